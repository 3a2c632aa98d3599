import { setMaxListeners } from 'node:events'
import pRetry from 'p-retry'
import { type JsonObject, ownField } from '../base/json.ts'
import { type CallerSignal, Deadline, type DeadlineReasons } from '../runtime/deadline.ts'
import { NoSlotError, type ReleaseSlot, Slots } from '../runtime/concurrency.ts'
import { ToolError } from './tool-error.ts'

/** Further calls are refused at once. */
const MAX_WAITING = 1000

/** In ms; each further delay is three times as long. */
const FIRST_RETRY_DELAY = 25

/** When the caller's deadline ends a call, the tool failed only if the call had at least this share of the caller's time. */
const FAIR_SHARE = 0.8

export interface CallerTime {
  /** On the clock of `performance.now()`, in ms. */
  readonly deadline: number
  /** From its beginning to the deadline, in ms. */
  readonly whole: number
}

type RunAttempt<T> = (signal: AbortSignal, ends: number) => Promise<T>

/** Runs the calls of one tool by its policy: concurrency, circuit breaker, time limit, retries after temporary failures. */
export function createGuard ({ timeout, retries, breaker: breakerPolicy, concurrency }: ToolPolicy) {
  const slots = new Slots({ concurrency, queue: MAX_WAITING })
  const breaker = breakerPolicy && new Breaker(breakerPolicy)
  const durations = new RecentDurations()

  /** Nobody would read the result of a call that cannot end in time, and the calls behind it would wait longer. */
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

  async function enter (signal: AbortSignal, time: CallerTime | undefined): Promise<ReleaseSlot> {
    if (signal.aborted) throw reasonOf(signal)
    refuseHopeless(time, slots.isFull ? slots.waiting + 1 : 0)
    try {
      return await slots.acquire(signal)
    } catch (error) {
      throw error instanceof NoSlotError ? new ToolError('BUSY', 'has too many calls waiting') : reasonOf(signal)
    }
  }

  async function dispatch<T> (attempt: RunAttempt<T>, signal: AbortSignal, time: CallerTime | undefined): Promise<T> {
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

  /** A call that had too little time tells nothing about the tool. The 1 ms is added because a timer can fire early. */
  function hadItsTime (duration: number, { whole }: CallerTime): boolean {
    return duration + 1 >= (timeout ?? FAIR_SHARE * whole)
  }

  return {
    /** @throws ToolError. The `ends` of an attempt is its latest end, in ms on the clock of `performance.now()`. */
    async run<T> (attempt: RunAttempt<T>, signal: AbortSignal, time: CallerTime | undefined): Promise<T> {
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

/** Durations older than the age (in ms) do not count, so that a tool that was slow earlier is tried again. */
const KEPT = 32
const MAX_AGE = 10_000

const LEAST = 5

class RecentDurations {
  readonly #now: () => number
  #durations: ReadonlyArray<{ readonly at: number, readonly milliseconds: number }> = []

  constructor (now: () => number = () => performance.now()) {
    this.#now = now
  }

  add (milliseconds: number): void {
    this.#durations = [...this.#durations.slice(1 - KEPT), { at: this.#now(), milliseconds }]
  }

  read (): { readonly median: number, readonly fastest: number } | undefined {
    const since = this.#now() - MAX_AGE
    const recent = this.#durations.filter(({ at }) => at >= since).map(({ milliseconds }) => milliseconds).sort((a, b) => a - b)
    return recent.length < LEAST ? undefined : { median: recent[recent.length >> 1] as number, fastest: recent[0] as number }
  }
}

/** An `unknown` end tells nothing about the tool; an error that the same call would get again is a `success` of the tool. */
export type AttemptEnd = 'success' | 'failure' | 'unknown'

export interface BreakerState {
  readonly state: 'closed' | 'open' | 'half-open'
  readonly failures: number
  readonly calls: number
}

/** Opens by the share of failures, as Envoy and resilience4j do: a few failures in a row are usual when a hundred calls come at once. */
export class Breaker {
  readonly #policy: BreakerPolicy
  readonly #now: () => number
  /** The oldest end first; true for a failure. */
  #ends: boolean[] = []
  #openedAt: number | undefined
  #isProbing = false

  constructor (policy: BreakerPolicy, now: () => number = () => performance.now()) {
    this.#policy = policy
    this.#now = now
  }

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
    // A call that outlasts the opening is not counted: the probe after the cool-down tells more.
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

export interface ToolPolicy {
  /** In ms, with retries, without the wait in the queue. `undefined` for no limit but the caller's deadline. */
  readonly timeout: number | undefined
  /** True for a tool that only reads, and for one registered as idempotent. */
  readonly isRepeatable: boolean
  /** 0 unless `isRepeatable`. */
  readonly retries: number
  /** In ms; 0 for only within the same render. */
  readonly cacheTtl: number
  readonly breaker: BreakerPolicy | undefined
  readonly concurrency: number
  readonly onError: 'default' | 'empty' | 'abort'
  readonly strictReturns: boolean
}

interface BreakerPolicy {
  readonly failureRate: number
  /** At least this number of calls, and at most twice as many, are looked at. */
  readonly minimumCalls: number
  /** In ms. */
  readonly coolDown: number
}

export interface PolicyDefaults {
  readonly timeout?: number
  readonly retries: number
  readonly breaker: BreakerPolicy
  readonly concurrency: number
}

export const DEFAULT_POLICY: PolicyDefaults = { retries: 0, breaker: { failureRate: 0.5, minimumCalls: 10, coolDown: 10_000 }, concurrency: 64 }

export function parsePolicy (registration: JsonObject, defaults: PolicyDefaults): ToolPolicy {
  const own = (name: keyof ToolPolicy | 'idempotent'): unknown => ownField(registration, name)
  const breaker = own('breaker')
  return {
    timeout: own('timeout') as number | undefined ?? defaults.timeout,
    isRepeatable: own('idempotent') === true,
    retries: own('retries') as number | undefined ?? defaults.retries,
    cacheTtl: own('cacheTtl') as number | undefined ?? 0,
    breaker: breaker === false ? undefined : { ...defaults.breaker, ...(typeof breaker === 'object' ? breaker as Partial<BreakerPolicy> : {}) },
    concurrency: own('concurrency') as number | undefined ?? defaults.concurrency,
    onError: own('onError') as ToolPolicy['onError'] | undefined ?? 'default',
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
  // A hundred calls of a render can listen to one signal, so Node's limit of listeners is turned off.
  setMaxListeners(0, caller, signal)
  try {
    return await work(signal)
  } finally {
    deadline.end()
  }
}

function reasonOf ({ reason }: CallerSignal): ToolError {
  const isTimeout = reason instanceof Error && (reason.name === 'TimeoutError' || (reason as { code?: unknown }).code === 'RENDER_TIMEOUT')
  return isTimeout
    ? new ToolError('TIMEOUT', 'had not answered when its caller ran out of time', { transient: true, cause: reason })
    : new ToolError('ABORTED', 'was given up by its caller', { cause: reason })
}
