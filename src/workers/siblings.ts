import { type CollectedMetrics } from '../observe/metrics.ts'

/** What a worker process does when its siblings, the other workers of the service, ask for it. */
export interface SiblingDuties {
  /** Gives the metrics of this process. */
  collectMetrics (): Promise<CollectedMetrics>
  /** Reads the store now, rather than at the next poll. */
  reload (): Promise<void>
  /** Reads the keys that another process has written or removed. */
  follow (keys: readonly string[]): Promise<void>
  /** Notes that a readiness check has reached one of the processes. */
  watched (): void
}

/** The other worker processes of the same service, as one of them sees them. */
export interface Siblings {
  /** Sets what this process does when the others ask for it. */
  attend (duties: SiblingDuties): void
  /** Collects the metrics of the other workers, and of those that have died. @param own the metrics of this worker, kept in case it dies */
  metrics (own: CollectedMetrics): Promise<readonly CollectedMetrics[]>
  /** Makes all other workers read the store now. */
  reload (): void
  /** Tells all other workers of keys that this process has written or removed: where changes are polled, they would learn of them late. */
  changed (keys: readonly string[]): void
  /** Tells all other workers that a readiness check has reached this process. */
  watched (): void
  /** Does work that no two workers may do at the same time. Calls in one process must not overlap. */
  inTurn<T> (work: () => Promise<T>): Promise<T>
}
