import { type CollectedMetrics } from '../observe/metrics.ts'

/** What a worker does when the others ask for it. */
export interface SiblingDuties {
  /** Gives what this process has counted. */
  collectMetrics (): Promise<CollectedMetrics>
  /** Reads the store now. */
  reload (): Promise<void>
  /** Takes in keys that another process has written or removed. */
  follow (keys: readonly string[]): Promise<void>
  /** Takes note that somebody asks for readiness. */
  watched (): void
}

/** The other processes of the same service, as one of them sees them. */
export interface Siblings {
  /** From now on this process does what the others ask of it. */
  attend (duties: SiblingDuties): void
  /** What the others have counted, those that have died too. @param own what this one has, in case that it dies */
  metrics (own: CollectedMetrics): Promise<readonly CollectedMetrics[]>
  /** Makes all others read the store now. */
  reload (): void
  /** Tells all others of keys that this process has written or removed: where changes are polled, nobody else does. */
  changed (keys: readonly string[]): void
  /** Tells all others that somebody asks for readiness. */
  watched (): void
  /** Does something that no two of them may do at the same time. Calls in one process must not overlap. */
  inTurn<T> (work: () => Promise<T>): Promise<T>
}
