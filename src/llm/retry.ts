import { setTimeout as sleep } from 'node:timers/promises'
import pRetry from 'p-retry'
import { modelAuth, modelUpstream } from '../errors.ts'
import { type CallBudget } from './call-budget.ts'
import { type ModelLog } from './model-client.ts'
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
  readonly log: ModelLog | undefined
}

/**
 * Runs attempts until one succeeds, the policy is used up, or an error is not worth another attempt. `Retry-After` is
 * honoured when that wait fits into the budget; otherwise the call ends at once, and the caller is told how long to wait.
 * @throws LLM_UPSTREAM, LLM_AUTH, the caller's abort reason, or what `attempt` throws beyond UpstreamError
 */
export async function withRetries<T> (call: RetriedCall, attempt: () => Promise<T>): Promise<T> {
  const { policy, budget } = call
  let attempts = 0
  try {
    return await pRetry(async number => {
      attempts = number
      return await attempt()
    }, {
      retries: policy.delays.length,
      // The waits are ours, since p-retry knows factors only and no Retry-After.
      minTimeout: 0,
      signal: budget.signal,
      shouldRetry: async ({ error, attemptNumber }) => {
        const wait = waitBefore(error, policy.delays[attemptNumber - 1], budget)
        if (wait === undefined) return false
        call.log?.warn({ requestId: call.requestId, attempt: attemptNumber, wait, err: error }, 'model attempt failed, trying again')
        await policy.wait(wait, budget.signal)
        return true
      }
    })
  } catch (error) {
    throw finalError(error, attempts, call)
  }
}

/** How long to wait before another attempt, in ms; `undefined` when there is none. */
function waitBefore (error: Error, delay: number | undefined, budget: CallBudget): number | undefined {
  if (delay === undefined || budget.signal.aborted) return undefined
  if (!(error instanceof UpstreamError) || !error.retryable) return undefined
  const wait = Math.max(delay, error.retryAfter ?? 0)
  return wait < budget.remaining() ? wait : undefined
}

function finalError (error: unknown, attempts: number, call: RetriedCall): unknown {
  const { signal, callerLeft } = call.budget
  const cause: unknown = signal.aborted ? signal.reason : error
  if (callerLeft || !(cause instanceof UpstreamError)) return cause
  call.log?.warn({ requestId: call.requestId, attempts, err: cause }, 'model call failed')
  if (cause.status === 401 || cause.status === 403) return modelAuth(cause.status)
  const retryAfter = cause.retryAfter === undefined ? undefined : Math.ceil(cause.retryAfter / 1000)
  return modelUpstream(cause.message, Math.max(1, attempts), retryAfter)
}
