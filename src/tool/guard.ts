import { setMaxListeners } from 'node:events'
import pRetry from 'p-retry'
import type { JsonObject } from '../base/json.ts'
import { type CallerSignal, Deadline, type DeadlineReasons } from '../runtime/deadline.ts'
import { NoSlotError, type Release, Slots } from '../runtime/concurrency.ts'
import { ToolError } from './tool-error.ts'

/** The most calls of one tool that wait in the queue while `concurrency` other calls run. Further calls are refused at once. */
const MAX_WAITING = 1000

/** The delay before the first retry of a call, in ms; each further delay is three times as long. */
const FIRST_RETRY_DELAY = 25

/**
 * When the caller's deadline ends a call of a tool that has no time limit of its own, this counts as the tool's failure only if the call had
 * at least this share of the caller's whole time.
 */
const FAIR_SHARE = 0.8

/** The time that the caller of a tool has. */
export interface CallerTime {
  /** The caller's deadline, on the clock of `performance.now()`, in ms. */
  readonly deadline: number
  /** The length of the caller's time from its beginning to the deadline, in ms. */
  readonly whole: number
}

type Attempt<T> = (signal: AbortSignal, ends: number) => Promise<T>

/**
 * A guard runs the calls of one tool by the tool's policy: it limits how many run at the same time, asks the circuit breaker, sets the time
 * limit, and retries after temporary failures.
 */
export interface Guard {
  /**
   * Runs a call.
   * @param attempt makes one attempt to call the tool, and stops it when the attempt's `signal` is aborted. `ends` is the time at which that
   * happens at the latest, in ms on the clock of `performance.now()`
   * @param time the caller's time; `undefined` for a caller without a deadline
   * @throws ToolError
   */
  run<T> (attempt: Attempt<T>, signal: AbortSignal, time: CallerTime | undefined): Promise<T>
  /** The state of the circuit breaker; `undefined` for a tool without one. */
  breakerState (): BreakerState | undefined
}

/** Makes the guard that limits and retries the calls of one tool. The guard remembers recent durations and failures of the tool. */
export function createGuard ({ timeout, retries, breaker: breakerPolicy, concurrency }: ToolPolicy): Guard {
  const slots = new Slots({ concurrency, queue: MAX_WAITING })
  const breaker = breakerPolicy && new Breaker(breakerPolicy)
  const durations = new RecentDurations()

  /**
   * Refuses a call that cannot end before the caller's deadline, as the durations of recent calls show. Nobody would read the result, and
   * the calls behind it in the queue would wait longer. `ahead` is the call's place in the queue. If it is 0, no queue delays the call: it is
   * refused only if even the fastest recent call took longer than the caller has.
   */
  function refuseHopeless (time: CallerTime | undefined, ahead: number): void {
    const recent = time && durations.read()
    if (time === undefined || recent === undefined) return
    const wait = ahead * recent.median / concurrency
    const least = ahead === 0 ? recent.fastest : wait + recent.median
    const left = time.deadline - performance.now()
    if (least > left) {
      throw new ToolError(
        'BUSY',
        `would have taken some ${Math.round(least)} ms, of which ${Math.round(wait)} ms are waiting, and its caller has ${Math.max(0, Math.round(left))} ms left`
      )
    }
  }

  async function enter (signal: AbortSignal, time: CallerTime | undefined): Promise<Release> {
    if (signal.aborted) throw reasonOf(signal)
    refuseHopeless(time, slots.isFull ? slots.waiting + 1 : 0)
    try {
      return await slots.acquire(signal)
    } catch (error) {
      throw error instanceof NoSlotError ? new ToolError('BUSY', 'has too many calls waiting') : reasonOf(signal)
    }
  }

  async function dispatch<T> (attempt: Attempt<T>, signal: AbortSignal, time: CallerTime | undefined): Promise<T> {
    refuseHopeless(time, 0)
    const ended = breaker?.begin()
    if (breaker !== undefined && ended === undefined) throw new ToolError('BREAKER_OPEN', 'is not called for a while, since too many of the last calls failed')
    const started = performance.now()
    const ends = Math.min(time?.deadline ?? Infinity, started + (timeout ?? Infinity))
    try {
      const value = await withDeadline(signal, timeout, inner => repeat(() => attempt(inner, ends), inner))
      durations.add(performance.now() - started)
      ended?.('success')
      return value
    } catch (error) {
      ended?.(endOf(error, performance.now() - started, time))
      throw error
    }
  }

  function repeat<T> (attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (retries === 0) return attempt()
    return pRetry(attempt, { retries, minTimeout: FIRST_RETRY_DELAY, factor: 3, signal, shouldRetry: ({ error }) => isTransient(error) && !signal.aborted })
  }

  function endOf (error: unknown, duration: number, time: CallerTime | undefined): AttemptEnd {
    if (!(error instanceof ToolError) || error.code === 'ABORTED') return 'unknown'
    if (error.code === 'TIMEOUT' && time !== undefined && !hadItsTime(duration, time)) return 'unknown'
    return error.transient ? 'failure' : 'success'
  }

  /**
   * Whether a call (with its retries) had enough time before the caller's deadline ended it. If not, the timeout tells nothing about the
   * tool. The 1 ms is added because a timer can fire early.
   */
  function hadItsTime (duration: number, { whole }: CallerTime): boolean {
    return duration + 1 >= (timeout ?? FAIR_SHARE * whole)
  }

  return {
    async run (attempt, signal, time) {
      const release = await enter(signal, time)
      try {
        return await dispatch(attempt, signal, time)
      } finally {
        release()
      }
    },
    breakerState: () => breaker?.state()
  }
}

function isTransient (error: unknown): boolean {
  return error instanceof ToolError && error.transient
}

/** The most durations that are kept, and their largest age, in ms. Older ones do not count, so that a tool that was slow earlier is tried again. */
const KEPT = 32
const MAX_AGE = 10_000

/** The smallest number of durations that allow an estimate. */
const LEAST = 5

/** The durations of a tool's last successful calls. They serve to estimate how long the next call will take. */
class RecentDurations {
  readonly #now: () => number
  #durations: ReadonlyArray<{ readonly at: number, readonly milliseconds: number }> = []

  /** Creates an empty list of durations. @param now the clock, in ms */
  constructor (now: () => number = () => performance.now()) {
    this.#now = now
  }

  add (milliseconds: number): void {
    this.#durations = [...this.#durations.slice(1 - KEPT), { at: this.#now(), milliseconds }]
  }

  /** The median and the shortest of the recent durations, in ms; `undefined` when there are too few. */
  read (): { readonly median: number, readonly fastest: number } | undefined {
    const since = this.#now() - MAX_AGE
    const recent = this.#durations.filter(({ at }) => at >= since).map(({ milliseconds }) => milliseconds).sort((a, b) => a - b)
    return recent.length < LEAST ? undefined : { median: recent[recent.length >> 1] as number, fastest: recent[0] as number }
  }
}

/**
 * How a call of a tool ended after its retries, as the circuit breaker counts it. `failure`: a temporary failure. `unknown`: an end that tells
 * nothing about the tool. `success`: any other end, even with an error that the same call would get again.
 */
export type AttemptEnd = 'success' | 'failure' | 'unknown'

/** The state of a tool's circuit breaker, as `GET /api/tools/{id}` shows it. */
export interface BreakerState {
  /** The state. `closed`: calls are made. `open`: no call is made. `half-open`: one call is made, to find out whether the tool works again. */
  readonly state: 'closed' | 'open' | 'half-open'
  /** The number of failures among the last calls. */
  readonly failures: number
  readonly calls: number
}

/**
 * A circuit breaker stops calls to a tool that mostly fails, for some time. It opens when the share of failures in the last calls is too
 * large, as in Envoy and resilience4j: a few failures in a row are usual for a tool that gets a hundred calls at once. The share is computed
 * from at least `minimumCalls` of the last calls, and from at most twice as many.
 */
export class Breaker {
  readonly #policy: BreakerPolicy
  readonly #now: () => number
  /** How the last calls of the tool ended, the oldest first: true for a failure. */
  #ends: boolean[] = []
  #openedAt: number | undefined
  #isProbing = false

  /** Creates a closed breaker. @param now the clock, in ms */
  constructor (policy: BreakerPolicy, now: () => number = () => performance.now()) {
    this.#policy = policy
    this.#now = now
  }

  /** Begins a call, if the breaker allows it. @returns a function to run when the call has ended; `undefined` when the tool must not be called */
  begin (): ((end: AttemptEnd) => void) | undefined {
    if (this.#openedAt === undefined) return end => { this.#count(end) }
    if (this.#isProbing || this.#now() - this.#openedAt < this.#policy.coolDown) return undefined
    this.#isProbing = true
    return end => { this.#probed(end) }
  }

  state (): BreakerState {
    const isDue = this.#openedAt !== undefined && this.#now() - this.#openedAt >= this.#policy.coolDown
    return { state: this.#openedAt === undefined ? 'closed' : isDue ? 'half-open' : 'open', failures: this.#failures(), calls: this.#ends.length }
  }

  #count (end: AttemptEnd): void {
    // If the breaker opened while this call was running, the call is not counted: the call that probes the tool after the cool-down tells more.
    if (end === 'unknown' || this.#openedAt !== undefined) return
    const { minimumCalls, failureRate } = this.#policy
    this.#ends = [...this.#ends, end === 'failure'].slice(-2 * minimumCalls)
    if (this.#ends.length >= minimumCalls && this.#failures() >= failureRate * this.#ends.length) this.#openedAt = this.#now()
  }

  #probed (end: AttemptEnd): void {
    this.#isProbing = false
    if (end === 'failure') this.#openedAt = this.#now()
    if (end !== 'success') return
    this.#openedAt = undefined
    this.#ends = []
  }

  #failures (): number {
    return this.#ends.filter(isFailure => isFailure).length
  }
}

/** The reaction to a failed call of a tool: the registered default value, no value, or the end of the whole render. */
type OnError = 'default' | 'empty' | 'abort'

/** The policy by which a tool is called: limits, retries, cache, and what happens on failure. */
export interface ToolPolicy {
  /** The longest time of a call with its retries, without the wait in the queue, in ms. `undefined` for no limit but the caller's deadline. */
  readonly timeout: number | undefined
  /** Whether two equal calls have the same effect as one call: true for a tool that only reads, and for a tool registered as idempotent. */
  readonly isRepeatable: boolean
  /** The most further attempts of a call after temporary failures. It is 0 unless `isRepeatable` is true. */
  readonly retries: number
  /** The time for which a result is reused for equal arguments, in ms; 0 for only within the same render. */
  readonly cacheTtl: number
  /** The rule when to stop calling a tool that fails; `undefined` for never. */
  readonly breaker: BreakerPolicy | undefined
  /** The most calls of the tool that run at the same time. */
  readonly concurrency: number
  readonly onError: OnError
  /** Whether a result that violates the declared `returns` makes the call fail. */
  readonly strictReturns: boolean
}

/** The settings of a circuit breaker. */
interface BreakerPolicy {
  /** The share of failed calls, among the last ones, at which the breaker opens. */
  readonly failureRate: number
  /** The breaker does not open before it has seen this number of calls. It looks at the last calls, at most at twice this number. */
  readonly minimumCalls: number
  /** The time after which an open breaker lets one call try again, in ms. */
  readonly coolDown: number
}

/** The defaults for those parts of a policy that a registration does not state. */
export interface PolicyDefaults {
  readonly timeout?: number
  readonly retries: number
  readonly breaker: BreakerPolicy
  readonly concurrency: number
}

export const DEFAULT_POLICY: PolicyDefaults = { retries: 0, breaker: { failureRate: 0.5, minimumCalls: 10, coolDown: 10_000 }, concurrency: 64 }

/** Reads the policy of a tool from its registration, which has been validated against `jsonschema/tool.json`. */
export function parsePolicy (registration: JsonObject, defaults: PolicyDefaults): ToolPolicy {
  const own = (name: keyof ToolPolicy | 'idempotent'): unknown => Object.hasOwn(registration, name) ? registration[name] : undefined
  const breaker = own('breaker')
  return {
    timeout: own('timeout') as number | undefined ?? defaults.timeout,
    isRepeatable: own('idempotent') === true,
    retries: own('retries') as number | undefined ?? defaults.retries,
    cacheTtl: own('cacheTtl') as number | undefined ?? 0,
    breaker: breaker === false ? undefined : { ...defaults.breaker, ...(typeof breaker === 'object' ? breaker as Partial<BreakerPolicy> : {}) },
    concurrency: own('concurrency') as number | undefined ?? defaults.concurrency,
    onError: own('onError') as OnError | undefined ?? 'default',
    strictReturns: own('strictReturns') === true
  }
}

const REASONS: DeadlineReasons = {
  expired: milliseconds => new ToolError('TIMEOUT', `took longer than ${milliseconds} ms`, { transient: true }),
  left: reasonOf
}

/**
 * Runs work with a signal that is aborted, with a `ToolError`, when the time is over or the caller gives up. The work has to settle soon
 * after that: see `untilAborted`.
 * @param milliseconds the time limit; `undefined` for as long as the caller waits
 * @throws ToolError `TIMEOUT` or `ABORTED`, or the work's own error
 */
export async function withDeadline<T> (caller: AbortSignal, milliseconds: number | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  if (caller.aborted) throw reasonOf(caller)
  const deadline = new Deadline(milliseconds ?? Infinity, performance.now(), caller, REASONS)
  const signal = deadline.toAbortSignal()
  // All calls of a render listen to the same signal, and there can be a hundred calls, so Node's limit of listeners is turned off.
  setMaxListeners(0, caller, signal)
  try {
    return await work(signal)
  } finally {
    deadline.end()
  }
}

/** The error for a call whose signal was aborted: `TIMEOUT` when the caller's time was over, `ABORTED` when nobody waits for the call any more. */
function reasonOf ({ reason }: CallerSignal): ToolError {
  const isTimeout = reason instanceof Error && (reason.name === 'TimeoutError' || (reason as { code?: unknown }).code === 'RENDER_TIMEOUT')
  return isTimeout
    ? new ToolError('TIMEOUT', 'had not answered when its caller ran out of time', { transient: true, cause: reason })
    : new ToolError('ABORTED', 'was given up by its caller', { cause: reason })
}
