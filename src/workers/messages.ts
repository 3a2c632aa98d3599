import { type CollectedMetrics } from '../observe/metrics.ts'

/** A message of a worker process to the primary process, which has started all workers. */
export type FromWorker =
  /** Asks for the metrics of the other workers, and contains this worker's own. */
  | { readonly kind: 'gather', readonly question: number, readonly metrics: CollectedMetrics }
  /** Answers the message `collect`: has this worker's metrics, for the worker with the id `asker`. */
  | { readonly kind: 'collected', readonly asker: number, readonly question: number, readonly metrics: CollectedMetrics }
  /** Asks for every other worker to read the store now. */
  | { readonly kind: 'reload' }
  /** Tells that this worker has written or removed keys of the store. */
  | { readonly kind: 'changed', readonly keys: readonly string[] }
  /** Tells that a readiness check has reached this worker. */
  | { readonly kind: 'watched' }
  /** Asks for a turn: the right to write to the store, which only one worker has at a time. */
  | { readonly kind: 'enter' }
  /** Tells that this worker has ended its turn (its right to write to the store). */
  | { readonly kind: 'leave' }

/** A message of the primary process to a worker process. */
export type ToWorker =
  /** Asks the worker to stop; with `leave`, only after load balancers have stopped sending it requests. */
  | { readonly kind: 'stop', readonly leave: boolean }
  | { readonly kind: 'reload' }
  /** Tells that another worker has written or removed keys of the store. */
  | { readonly kind: 'changed', readonly keys: readonly string[] }
  /** Tells that a readiness check has reached another worker. */
  | { readonly kind: 'watched' }
  /** Gives the worker its turn: the right to write to the store. */
  | { readonly kind: 'entered' }
  /** Asks for the worker's metrics, because the worker with the id `asker` has asked for those of all workers. */
  | { readonly kind: 'collect', readonly asker: number, readonly question: number }
  /** Answers the message `gather`: has the metrics of each other worker, and those of workers that have died. */
  | { readonly kind: 'gathered', readonly question: number, readonly metrics: readonly CollectedMetrics[] }
