import { setTimeout as sleep } from 'node:timers/promises'
import { type ModelWatch } from '../../runtime/activity.ts'
import { modelAuth, modelRateLimited, modelUpstream } from '../../base/errors.ts'
import { type CallBudget } from './call-budget.ts'
import { type ModelLog, type Tally } from '../model-client.ts'
import { UpstreamError } from '../upstream-error.ts'

/** When to try again. */
export interface RetryPolicy {
  /** The waits before the second attempt, the third and so on, in ms. */
  readonly delays: readonly number[]
  /** Waits; rejects when the signal aborts. */
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>
}

export const DEFAULT_RETRY: RetryPolicy = {
  delays: [100, 300],
  wait: (milliseconds, signal) => sleep(milliseconds, undefined, { signal })
}

/** An upstream that asks for a longer wait gets none: a fallback, or the caller, decides sooner. In ms. */
const MAX_RETRY_AFTER = 1000

/** One call, as the retries see it. */
export interface RetriedCall {
  readonly policy: RetryPolicy
  readonly budget: CallBudget
  readonly requestId: string
  /** Its name. */
  readonly provider: string
  /** Of this call and those of other providers before it. */
  readonly tally: Tally
  readonly log: ModelLog | undefined
  readonly watch?: ModelWatch | undefined
}

/**
 * Runs attempts until one succeeds, the policy is used up, or an error is not worth another attempt. `Retry-After` is
 * honoured up to a second that fits into the budget; beyond, the call ends at once, and its error says how long to wait.
 * @throws LLM_UPSTREAM, LLM_RATE_LIMITED, LLM_AUTH, the caller's abort reason, or what `attempt` throws beyond UpstreamError
 */
export async function withRetries<T> (call: RetriedCall, attempt: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    call.tally.attempts++
    try {
      return await attempt()
    } catch (error) {
      if (!await waitForNext(call, error, attempts)) throw finalError(error, attempts, call)
    }
  }
}

/** Waits for the next attempt; `false` when there is none. @param attempts how many there have been */
async function waitForNext ({ policy, budget, log, requestId, watch }: RetriedCall, error: unknown, attempts: number): Promise<boolean> {
  const wait = waitBefore(error, policy.delays[attempts - 1], budget)
  if (wait === undefined) return false
  log?.warn({ requestId, attempt: attempts, wait, err: error }, 'model attempt failed, trying again')
  watch?.retried(attempts, error instanceof UpstreamError ? error.status : undefined)
  // A wait that is cut short leaves nothing to try with.
  await policy.wait(wait, budget.signal()).catch(() => {})
  return !budget.isUsedUp
}

/** How long to wait before another attempt, in ms; `undefined` when there is none. */
function waitBefore (error: unknown, delay: number | undefined, budget: CallBudget): number | undefined {
  if (delay === undefined || budget.isUsedUp) return undefined
  if (!(error instanceof UpstreamError) || !error.retryable) return undefined
  const { retryAfter = 0 } = error
  if (retryAfter > MAX_RETRY_AFTER) return undefined
  const wait = Math.max(delay, retryAfter)
  return wait < budget.remaining() ? wait : undefined
}

function finalError (error: unknown, attempts: number, call: RetriedCall): unknown {
  const { isUsedUp, reason, callerLeft } = call.budget
  const cause = isUsedUp ? reason : error
  if (callerLeft || !(cause instanceof UpstreamError)) return cause
  call.log?.warn({ requestId: call.requestId, attempts, err: cause }, 'model call failed')
  if (cause.status === 401 || cause.status === 403) return modelAuth(call.provider, cause.status)
  const retryAfter = cause.retryAfter === undefined ? undefined : Math.ceil(cause.retryAfter / 1000)
  return cause.status === 429
    ? modelRateLimited(call.provider, call.tally.attempts, retryAfter)
    : modelUpstream(call.provider, cause.message, call.tally.attempts, retryAfter)
}
