import { type CollectedMetrics } from '../observe/metrics.ts'

/** What a worker tells the primary process. */
export type FromWorker =
  /** What have the other workers counted? And what this one has. */
  | { readonly kind: 'gather', readonly question: number, readonly metrics: CollectedMetrics }
  /** The answer to `collect`. */
  | { readonly kind: 'collected', readonly asker: number, readonly question: number, readonly metrics: CollectedMetrics }
  /** Every other worker is to read the store now. */
  | { readonly kind: 'reload' }
  /** It has written or removed these keys. */
  | { readonly kind: 'changed', readonly keys: readonly string[] }
  /** Somebody asks for readiness. */
  | { readonly kind: 'watched' }
  /** This one wants to write, which one does at a time. */
  | { readonly kind: 'enter' }
  /** It has written. */
  | { readonly kind: 'leave' }

/** What the primary process tells a worker. */
export type ToWorker =
  /** With `leave`, once nobody sends it anything more. */
  | { readonly kind: 'stop', readonly leave: boolean }
  | { readonly kind: 'reload' }
  /** Another worker has written or removed these keys. */
  | { readonly kind: 'changed', readonly keys: readonly string[] }
  /** Somebody asks another worker for readiness. */
  | { readonly kind: 'watched' }
  /** Nobody else writes now. */
  | { readonly kind: 'entered' }
  /** What have you counted? It goes to the worker `asker`. */
  | { readonly kind: 'collect', readonly asker: number, readonly question: number }
  /** The answer to `gather`: one element a worker, and one for those that have died. */
  | { readonly kind: 'gathered', readonly question: number, readonly metrics: readonly CollectedMetrics[] }
