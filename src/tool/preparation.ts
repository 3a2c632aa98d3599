import type { Json, JsonObject } from '../base/json.ts'
import type { Span } from '../observe/open-telemetry.ts'
import { untilAborted } from '../runtime/deadline.ts'
import { withDeadline } from './guard.ts'
import { ToolError, unreachable } from './tool-error.ts'

/** Reaches one registered tool over its protocol. */
export interface Connector {
  /** Makes one attempt; timeouts, retries and fallbacks are the caller's. It ends soon after its signal is aborted. @throws ToolError */
  call (values: JsonObject, attempt: Attempt): Promise<AttemptReply>
  readonly attempted: Promise<void>
  state (): PreparationState
  close (): Promise<void>
}

export interface Attempt {
  /** The reason is a `ToolError`. */
  readonly signal: AbortSignal
  /** In ms; sent to the tool's server if the protocol can. `undefined` for no deadline. */
  readonly timeLeft: number | undefined
  readonly requestId: string
  readonly traceparent: string | undefined
  /** Of the call, for what only its protocol knows; `undefined` where nothing is traced. */
  readonly span?: Pick<Span, 'set'> | undefined
  /** Equal for every attempt of a call, so that a tool that changes things can tell that it was asked before. */
  readonly idempotencyKey: string
}

/** Lets a tool's own logs and traces be matched with the request to this service. */
export function identify ({ requestId, traceparent }: Attempt): Readonly<Record<string, string>> {
  return { 'x-request-id': requestId, ...(traceparent === undefined ? {} : { traceparent }) }
}

export interface AttemptReply {
  readonly value: Json
  /** Sent with the call, and removed from the value in case the tool repeats them. */
  readonly secrets: readonly string[]
}

/** In ms. */
const ATTEMPT = 10_000

/** In ms; it doubles with each further failure. */
const FIRST_DELAY = 500
const MAX_DELAY = 60_000

/** In ms. What ends sooner counts as a failure, so that a server that dies at once is not restarted without a pause. */
const STABLE = 5000

export type PreparationState = 'preparing' | 'ready' | 'failed'

/** Makes ready, in the background, what a tool's calls need and takes long to get: a connection, a description, a process. */
export interface Preparation<T> {
  /** Waits only for the first attempt, and for the one after a loss, since a render has no time for more. @throws ToolError */
  get (): Promise<T>
  readonly attempted: Promise<void>
  state (): PreparationState
  /** Nothing happens if `lost` was already replaced. A `delay` (ms) of 0 makes calls wait; by default it depends on how long `lost` lasted. */
  renew (lost: T, reason: string, delay?: number): void
  close (): Promise<void>
}

export function createPreparation<T> ({ prepare, dispose, failed }: {
  prepare: (signal: AbortSignal) => Promise<T>
  dispose: (prepared: T) => void | Promise<void>
  failed?: (error: Error) => void
}): Preparation<T> {
  const closing = new AbortController()
  let problem: ToolError | undefined
  let prepared: { readonly value: T, readonly since: number } | undefined
  let failures = 0
  let timer: NodeJS.Timeout | undefined
  let awaited = attempt()
  awaited.catch(() => {})
  const attempted = awaited.then(() => {}, () => {})

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

  function schedule (least = 0): void {
    const delay = Math.max(least, Math.min(FIRST_DELAY * 2 ** failures, MAX_DELAY))
    failures++
    timer = setTimeout(() => { attempt().catch(() => {}) }, delay).unref()
  }

  async function discard (value: T): Promise<void> {
    try {
      await dispose(value)
    } catch {
      // Nothing uses the old thing any more, so an error of closing it is of no interest.
    }
  }

  return {
    attempted,
    state: () => prepared !== undefined ? 'ready' : problem === undefined ? 'preparing' : 'failed',
    async get () {
      if (prepared !== undefined) return prepared.value
      if (problem !== undefined) throw problem
      return awaited
    },
    renew (lost, reason, delay) {
      if (prepared?.value !== lost || closing.signal.aborted) return
      const { value, since } = prepared
      prepared = undefined
      discard(value)
      const wasStable = performance.now() - since >= STABLE
      if (wasStable) failures = 0
      if (delay === 0 || (delay === undefined && wasStable)) {
        problem = undefined
        awaited = attempt()
        awaited.catch(() => {})
        return
      }
      problem = new ToolError('UNREACHABLE', reason, { transient: true, wasSent: false })
      schedule(delay)
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
