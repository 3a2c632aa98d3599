import { untilAborted } from '../../runtime/until-aborted.ts'
import { withDeadline } from './call-deadline.ts'
import { ToolError } from './tool-error.ts'
import { unreachable } from '../unreachable.ts'

/** How long one attempt to prepare may take, in ms. */
const ATTEMPT = 10_000

/** The wait before the attempt that follows a failed one, in ms. It is doubled after each further failure, up to the limit below. */
const FIRST_DELAY = 500
const MAX_DELAY = 60_000

/** How long something prepared must last to count as a success, in ms. A server that dies at once is a failure, so that it is not restarted in a tight loop. */
const STABLE = 5000

/** The state of a preparation. */
export type PreparationState = 'preparing' | 'ready' | 'failed'

/**
 * A resource that calls need and that takes long to get: a connection, the description of a service, a running process. It is prepared in the
 * background from the moment when this object is made, and again after each failure.
 */
export interface Preparation<T> {
  /**
   * The prepared resource. A call waits for the first attempt only, because it has a render to finish.
   * @throws ToolError with the reason why there is no resource
   */
  get (): Promise<T>
  /** Settles when the first attempt has ended, with or without success. */
  readonly attempted: Promise<void>
  state (): PreparationState
  /**
   * Prepares the resource anew, because the present one is lost or out of date. Does nothing when another one has been prepared already.
   * @param lost the resource that the caller had
   */
  renew (lost: T, reason: string): void
  close (): Promise<void>
}

export interface PreparationOptions<T> {
  /** Makes one attempt. It closes what it has opened when the signal aborts. */
  readonly prepare: (signal: AbortSignal) => Promise<T>
  /** Ends a prepared resource. */
  readonly dispose: (prepared: T) => void | Promise<void>
  /** Called with a failure, once while the same failure repeats. */
  readonly failed?: (error: Error) => void
}

/** Begins to prepare a resource. */
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
      // An error of the old resource does not matter, because callers that used it have got an error already.
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
