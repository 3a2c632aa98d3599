import pRetry from 'p-retry'
import { NoSlotError, type Release, Slots } from '../../runtime/slots.ts'
import { type AttemptEnd, Breaker, type BreakerState } from './breaker.ts'
import { reasonOf, withDeadline } from './call-deadline.ts'
import { type ToolPolicy } from './policy.ts'
import { RecentDurations } from './recent-durations.ts'
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
