import { bulkhead, BulkheadRejectedError, circuitBreaker, BrokenCircuitError, ConsecutiveBreaker, handleWhen, TaskCancelledError } from 'cockatiel'
import pRetry from 'p-retry'
import { untilAborted } from './deadline.ts'
import { type ToolPolicy } from './policy.ts'
import { ToolError } from './tool-error.ts'

/** Calls that wait for a free place; the rest is refused at once. */
const MAX_WAITING = 1000

/** Before the first retry, in ms; each further one waits three times as long. */
const FIRST_RETRY_DELAY = 25

/** Runs attempts under a policy: a place among the concurrent calls, a closed breaker, retries of what fails in passing. */
export type Guard = <T>(attempt: () => Promise<T>, signal: AbortSignal) => Promise<T>

/** Makes the guard of one tool; the breaker's state is in it. */
export function createGuard ({ retries, breaker, concurrency }: ToolPolicy): Guard {
  const places = bulkhead(concurrency, MAX_WAITING)
  const circuit = breaker === undefined
    ? undefined
    : circuitBreaker(handleWhen(error => error instanceof ToolError && error.transient), { halfOpenAfter: breaker.coolDown, breaker: new ConsecutiveBreaker(breaker.failures) })

  return async (attempt, signal) => {
    const repeated = () => retries === 0
      ? attempt()
      : pRetry(attempt, { retries, minTimeout: FIRST_RETRY_DELAY, factor: 3, signal, shouldRetry: ({ error }) => error instanceof ToolError && error.transient && !signal.aborted })
    try {
      const waits = places.executionSlots === 0
      const work = places.execute(() => circuit === undefined ? repeated() : circuit.execute(repeated), signal)
      // A call that is under way ends by itself, and the breaker learns of it first; one that waits would wait on.
      return await (waits ? untilAborted(signal, work) : work)
    } catch (error) {
      throw toToolError(error, signal)
    }
  }
}

function toToolError (error: unknown, signal: AbortSignal): unknown {
  if (error instanceof BrokenCircuitError) return new ToolError('BREAKER_OPEN', 'is not called for a while, since it has failed several times in a row')
  if (error instanceof BulkheadRejectedError) return new ToolError('BUSY', 'has too many calls waiting')
  return error instanceof TaskCancelledError ? signal.reason : error
}
