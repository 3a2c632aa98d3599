import { untilAborted } from '../../runtime/until-aborted.ts'
import { withDeadline } from './call-deadline.ts'
import { ToolError } from './tool-error.ts'
import { unreachable } from '../unreachable.ts'

/** How long one attempt may take, in ms. */
const ATTEMPT = 10_000

/** Before the attempt that follows a failed one, in ms; doubled up to the limit below. */
const FIRST_DELAY = 500
const MAX_DELAY = 60_000

/** What lasted for a shorter time counts as one more failure, so that a server that dies at once is not restarted in a tight loop. */
const STABLE = 5000

/** What a preparation is doing. */
export type PreparationState = 'preparing' | 'ready' | 'failed'

/**
 * Something that calls need and that takes long to get: a connection, a description of a service, a running process. It is
 * prepared in the background, from the moment when this object is made, and again for as long as it fails.
 */
export interface Preparation<T> {
  /**
   * What was prepared. A call waits for the first attempt only: later it has a render to finish.
   * @throws ToolError with the reason why there is nothing
   */
  get (): Promise<T>
  /** Settles when the first attempt has, whichever way. */
  readonly attempted: Promise<void>
  state (): PreparationState
  /** Begins anew, since what was prepared is lost or out of date. Does nothing when that was noticed before. */
  renew (lost: T, reason: string): void
  close (): Promise<void>
}

export interface PreparationOptions<T> {
  /** Makes one attempt; whatever it had opened is closed again when the signal is aborted. */
  readonly prepare: (signal: AbortSignal) => Promise<T>
  /** Ends what was prepared. */
  readonly dispose: (prepared: T) => void | Promise<void>
  /** Told of a failure, once while it repeats itself. */
  readonly failed?: (error: Error) => void
}

/** Begins to prepare. */
export function createPreparation<T> ({ prepare, dispose, failed }: PreparationOptions<T>): Preparation<T> {
  const closing = new AbortController()
  let problem: ToolError | undefined
  let prepared: { readonly value: T, readonly since: number } | undefined
  let failures = 0
  let timer: NodeJS.Timeout | undefined
  const first = attempt()
  first.catch(() => {})
  const attempted = first.then(() => {}, () => {})

  async function attempt (): Promise<T> {
    try {
      const value = await withDeadline(closing.signal, ATTEMPT, signal => untilAborted(signal, prepare(signal)))
      prepared = { value, since: performance.now() }
      problem = undefined
      return value
    } catch (error) {
      const last = problem?.message
      problem = unreachable(error)
      if (!closing.signal.aborted) {
        if (problem.message !== last) failed?.(error as Error)
        schedule()
      }
      throw problem
    }
  }

  function schedule (): void {
    const delay = failures === 0 ? FIRST_DELAY : Math.min(FIRST_DELAY * 2 ** failures, MAX_DELAY)
    failures++
    timer = setTimeout(() => { attempt().catch(() => {}) }, delay).unref()
  }

  async function discard (value: T): Promise<void> {
    try {
      await dispose(value)
    } catch {
      // It is of no use any more, and whoever had a call on it has been told already.
    }
  }

  return {
    attempted,
    state: () => prepared !== undefined ? 'ready' : problem === undefined ? 'preparing' : 'failed',
    async get () {
      if (prepared !== undefined) return prepared.value
      if (problem !== undefined) throw problem
      return first
    },
    renew (lost, reason) {
      if (prepared?.value !== lost || closing.signal.aborted) return
      const { value, since } = prepared
      prepared = undefined
      problem = new ToolError('UNREACHABLE', reason, { transient: true, wasSent: false })
      discard(value)
      if (performance.now() - since < STABLE) return schedule()
      failures = 0
      attempt().catch(() => {})
    },
    async close () {
      closing.abort()
      clearTimeout(timer)
      const last = prepared
      prepared = undefined
      problem = new ToolError('UNREACHABLE', 'is closed', { wasSent: false })
      if (last !== undefined) await discard(last.value)
    }
  }
}
