import { type CollectedMetrics } from '../observe/metrics.ts'

/** The functions of a worker process that its siblings (the other workers of the service) can ask it to call. */
export interface SiblingDuties {
  /** Gives the metrics of this process. */
  collectMetrics (): Promise<CollectedMetrics>
  /** Reads the store now, rather than at the next poll. */
  reload (): Promise<void>
  /** Reads the keys that another process has written or removed. */
  follow (keys: readonly string[]): Promise<void>
  /** Notes that a load balancer has checked the readiness of the service, at another worker. */
  watched (): void
}

/** The other worker processes of the same service: what one worker can ask of them. */
export interface Siblings {
  /** Sets the functions that this process calls when messages of the other workers ask for them. */
  attend (duties: SiblingDuties): void
  /** Collects the metrics of the other workers, also of those that have died. @param own the metrics of this worker, kept in case this worker dies */
  metrics (own: CollectedMetrics): Promise<readonly CollectedMetrics[]>
  /** Makes all other workers read the store now. */
  reload (): void
  /** Tells all other workers which keys of the store this process has written or removed. A store that has to be polled would tell them late. */
  changed (keys: readonly string[]): void
  /** Tells all other workers that a readiness check has reached this process. */
  watched (): void
  /** Runs `work` while no other worker runs work by its `inTurn`. The caller must wait for one call in this process before it makes the next. */
  inTurn<T> (work: () => Promise<T>): Promise<T>
}
