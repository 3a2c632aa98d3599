import { type Log } from '../../base/log.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { modelAuth, modelRateLimited, modelUpstream } from '../../base/errors.ts'
import { toAbortSignal } from '../../runtime/caller-signal.ts'
import { Deadline, type DeadlineReasons } from '../../runtime/deadline.ts'
import { beginTally, type CallOptions, holdUntilOver, type Layer, type Tally } from '../model-client.ts'
import { UpstreamError } from '../upstream-error.ts'

/** The rule for when a failed call of a model is tried again. */
export interface RetryPolicy {
  /** The waits in ms: before the second attempt, before the third, and so on. */
  readonly delays: readonly number[]
  /** Waits for a time. Rejects when the signal aborts. */
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>
}

export const DEFAULT_RETRY: RetryPolicy = {
  delays: [100, 300],
  wait: (milliseconds, signal) => sleep(milliseconds, undefined, { signal })
}

const REASONS: DeadlineReasons = {
  expired: milliseconds => new UpstreamError(`no whole reply within ${milliseconds} ms`, { retryable: false }),
  left: caller => caller.reason
}

/**
 * The longest wait before another attempt, in ms. When a model API asks for a longer one, the call ends at once: a fallback model is asked, or the
 * caller gets the error.
 */
const MAX_RETRY_AFTER = 1000

export interface RetryOptions {
  /** The name of the model API. */
  readonly provider: string
  readonly policy: RetryPolicy
  /** The longest time, in ms, for all attempts and the waits between them, up to the last byte of the reply. */
  readonly total: number
  readonly log: Log | undefined
}

/**
 * Makes the `Layer` that retries failed calls of a model API. It makes attempts until one succeeds, the waits are used up, or an error is not worth
 * another attempt. A `Retry-After` of at most `MAX_RETRY_AFTER` ms is obeyed if the time allows that; otherwise the call ends at once, and its error
 * says how long to wait. The last UpstreamError becomes LLM_UPSTREAM, LLM_RATE_LIMITED or LLM_AUTH. The package p-retry, which tools and sessions
 * use, is not used here: it takes 20 µs to set up, even for a call that succeeds at once, and every chat passes here.
 */
export function retry (options: RetryOptions): Layer {
  return ask => ({ kind, request, call }) => {
    const { requestId, watch, deadline = Infinity, tally = beginTally() } = call
    const budget = new Deadline(Math.max(0, Math.min(options.total, deadline - performance.now())), performance.now(), call.signal, REASONS)
    const attempt = { kind, request, call: { signal: budget.signal, requestId, watch, tally } }
    return holdUntilOver(async () => {
      for (let attempts = 1; ; attempts++) {
        tally.attempts++
        try {
          return await ask(attempt)
        } catch (error) {
          if (await waitForNext(options, call, budget, error, attempts)) continue
          call.signal.throwIfAborted()
          throw finalError(options, requestId, budget.signal.aborted ? budget.signal.reason : error, attempts, tally)
        }
      }
    }, () => budget.end())
  }
}

/** Waits for the time of the next attempt. @param attempts how many attempts were made so far @returns `false` when there is no further attempt */
async function waitForNext (
  { policy, log }: RetryOptions,
  { requestId, watch }: CallOptions,
  budget: Deadline,
  error: unknown,
  attempts: number
): Promise<boolean> {
  const wait = waitBefore(error, policy.delays[attempts - 1], budget)
  if (wait === undefined) return false
  log?.warn({ requestId, attempt: attempts, wait, err: error }, 'model attempt failed, trying again')
  watch?.retried(attempts, error instanceof UpstreamError ? error.status : undefined)
  // A wait ends early only because the time is over or the caller has left; then there is no further attempt.
  await policy.wait(wait, toAbortSignal(budget.signal)).catch(() => {})
  return !budget.signal.aborted
}

/** How long to wait before another attempt, in ms; `undefined` when there is none. */
function waitBefore (error: unknown, delay: number | undefined, budget: Deadline): number | undefined {
  if (delay === undefined || budget.signal.aborted) return undefined
  if (!(error instanceof UpstreamError) || !error.retryable) return undefined
  const { retryAfter = 0 } = error
  if (retryAfter > MAX_RETRY_AFTER) return undefined
  const wait = Math.max(delay, retryAfter)
  return wait < budget.remaining() ? wait : undefined
}

function finalError ({ provider, log }: RetryOptions, requestId: string, cause: unknown, attempts: number, tally: Tally): unknown {
  if (!(cause instanceof UpstreamError)) return cause
  log?.warn({ requestId, attempts, err: cause }, 'model call failed')
  if (cause.status === 401 || cause.status === 403) return modelAuth(provider, cause.status)
  const retryAfter = cause.retryAfter === undefined ? undefined : Math.ceil(cause.retryAfter / 1000)
  return cause.status === 429
    ? modelRateLimited(provider, tally.attempts, retryAfter, cause.upstream)
    : modelUpstream(provider, cause.message, tally.attempts, retryAfter, cause.upstream)
}
