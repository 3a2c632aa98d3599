import { setTimeout as sleep } from 'node:timers/promises'
import pRetry from 'p-retry'
import { type ModelWatch } from '../activity.ts'
import { modelAuth, modelUpstream } from '../errors.ts'
import { type CallBudget } from './call-budget.ts'
import { type ModelLog, type Tally } from './model-client.ts'
import { UpstreamError } from './upstream-error.ts'

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
 * honoured when that wait fits into the budget; otherwise the call ends at once, and the caller is told how long to wait.
 * @throws LLM_UPSTREAM, LLM_AUTH, the caller's abort reason, or what `attempt` throws beyond UpstreamError
 */
export async function withRetries<T> (call: RetriedCall, attempt: () => Promise<T>): Promise<T> {
  let attempts = 0
  const next = () => {
    attempts++
    call.tally.attempts++
    return attempt()
  }
  try {
    return await firstThenRetried(call, next)
  } catch (error) {
    throw finalError(error, attempts, call)
  }
}

/** The first attempt stands outside of p-retry, which takes more time than all the rest of a call that goes well. */
async function firstThenRetried<T> (call: RetriedCall, attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt()
  } catch (error) {
    if (!await waitForNext(call, error, 0)) throw error
  }
  return await pRetry(attempt, {
    retries: call.policy.delays.length - 1,
    // The waits are ours, since p-retry knows factors only and no Retry-After.
    minTimeout: 0,
    signal: call.budget.signal(),
    shouldRetry: ({ error, attemptNumber }) => waitForNext(call, error, attemptNumber)
  })
}

/** Waits for the next attempt; `false` when there is none. @param retries how many there have been */
async function waitForNext ({ policy, budget, log, requestId, watch }: RetriedCall, error: unknown, retries: number): Promise<boolean> {
  const wait = waitBefore(error, policy.delays[retries], budget)
  if (wait === undefined) return false
  log?.warn({ requestId, attempt: retries + 1, wait, err: error }, 'model attempt failed, trying again')
  watch?.retried(retries + 1, error instanceof UpstreamError ? error.status : undefined)
  await policy.wait(wait, budget.signal())
  return true
}

/** How long to wait before another attempt, in ms; `undefined` when there is none. */
function waitBefore (error: unknown, delay: number | undefined, budget: CallBudget): number | undefined {
  if (delay === undefined || budget.isUsedUp) return undefined
  if (!(error instanceof UpstreamError) || !error.retryable) return undefined
  const wait = Math.max(delay, error.retryAfter ?? 0)
  return wait < budget.remaining() ? wait : undefined
}

function finalError (error: unknown, attempts: number, call: RetriedCall): unknown {
  const { isUsedUp, reason, callerLeft } = call.budget
  const cause = isUsedUp ? reason : error
  if (callerLeft || !(cause instanceof UpstreamError)) return cause
  call.log?.warn({ requestId: call.requestId, attempts, err: cause }, 'model call failed')
  if (cause.status === 401 || cause.status === 403) return modelAuth(call.provider, cause.status)
  const retryAfter = cause.retryAfter === undefined ? undefined : Math.ceil(cause.retryAfter / 1000)
  return modelUpstream(call.provider, cause.message, call.tally.attempts, retryAfter)
}
