import type { Json, JsonObject } from '../base/json.ts'
import { untilAborted } from '../runtime/deadline.ts'
import { withDeadline } from './guard.ts'
import { ToolError, unreachable } from './tool-error.ts'

/** A connector reaches one registered tool over its protocol (HTTP, gRPC or MCP). It is made when the tool is registered. */
export interface Connector {
  /**
   * Makes one attempt to call the tool. Timeouts, retries and fallbacks are the caller's job. The attempt ends soon after its signal is
   * aborted.
   * @throws ToolError
   */
  call (values: JsonObject, attempt: Attempt): Promise<Reply>
  /** Settles when the first attempt to prepare for calls (such as connecting) has succeeded or failed. */
  readonly attempted: Promise<void>
  state (): PreparationState
  /** Closes what the connector has opened, such as connections. */
  close (): Promise<void>
}

/** One attempt to call a tool: its limits, and the HTTP request that led to it. */
export interface Attempt {
  /** Ends the attempt when it is aborted. The reason is a `ToolError`. */
  readonly signal: AbortSignal
  /** The time that remains for the attempt, in ms. The connector sends it to the tool's server if the protocol can. `undefined` for no deadline. */
  readonly timeLeft: number | undefined
  /** The id and the trace context of the HTTP request to this service that led to the call. The tool receives both if its protocol can carry them. */
  readonly requestId: string
  readonly traceparent: string | undefined
  /** Names the call: equal for every attempt, so that a tool that changes things can tell that it was asked before. */
  readonly idempotencyKey: string
}

/** Makes the headers, or gRPC metadata, by which a tool's own logs and traces can be matched with the request to this service. */
export function identify ({ requestId, traceparent }: Attempt): Readonly<Record<string, string>> {
  return { 'x-request-id': requestId, ...(traceparent === undefined ? {} : { traceparent }) }
}

/** The reply of a tool to one attempt. */
export interface Reply {
  readonly value: Json
  /** The secrets that were sent with the call. They are removed from the value, in case the tool repeats them. */
  readonly secrets: readonly string[]
}

/** The time limit of one attempt to prepare, in ms. */
const ATTEMPT = 10_000

/** The delay before the attempt after the first failure, in ms; it doubles with each further failure, up to the limit below. */
const FIRST_DELAY = 500
const MAX_DELAY = 60_000

/**
 * The shortest time for which a prepared thing, such as a connection, has to last, in ms. If it ends sooner, that counts as one more failure,
 * so that a server that dies at once is not started again and again without a pause.
 */
const STABLE = 5000

/** The state of what the calls of a tool need, such as a connection. */
export type PreparationState = 'preparing' | 'ready' | 'failed'

/**
 * A preparation makes a thing ready that calls of a tool need, and that takes long to get: a connection, a description of a service, a
 * running process. The first attempt begins in the background as soon as the preparation is created; failed attempts are repeated.
 */
export interface Preparation<T> {
  /**
   * Gives the prepared thing, such as a connection. A call of a tool waits only for the first attempt to prepare it, and for the one that
   * follows a loss at once. After a failed attempt the call fails at once, since a render has no time to wait for the next attempt.
   * @throws ToolError with the reason why the thing is not ready
   */
  get (): Promise<T>
  /** Settles when the first attempt has succeeded or failed. */
  readonly attempted: Promise<void>
  state (): PreparationState
  /**
   * Prepares again, since the prepared thing, such as a connection, broke or is outdated.
   * @param lost the old thing; if it was replaced, nothing happens
   * @param delay the least time until then, in ms; 0 for at once, so that calls wait for it. By default it depends on how long the old thing has lasted
   */
  renew (lost: T, reason: string, delay?: number): void
  close (): Promise<void>
}

interface PreparationOptions<T> {
  /** Makes one attempt to get the thing, such as a connection. When the signal is aborted, the attempt has to close what it has opened. */
  readonly prepare: (signal: AbortSignal) => Promise<T>
  /** Closes what was prepared, such as a connection. */
  readonly dispose: (prepared: T) => void | Promise<void>
  /** Called with the error of a failed attempt to prepare, unless the attempt before failed with the same error. */
  readonly failed?: (error: Error) => void
}

/** Creates a preparation, which begins its first attempt at once. */
export function createPreparation<T> ({ prepare, dispose, failed }: PreparationOptions<T>): Preparation<T> {
  const closing = new AbortController()
  let problem: ToolError | undefined
  let prepared: { readonly value: T, readonly since: number } | undefined
  let failures = 0
  let timer: NodeJS.Timeout | undefined
  /** The attempt that calls wait for: the first one, or one that follows a loss at once. */
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
      // Nothing uses the old connection (or process) any more, so an error of closing it is of no interest.
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
