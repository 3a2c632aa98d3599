import { type JsonObject } from '../../base/json.ts'

/** What stands in for a failed call: the registered default, nothing, or an end of the whole render. */
export type OnError = 'default' | 'empty' | 'abort'

/** How a tool is called. */
export interface ToolPolicy {
  /** Time for the whole call with its retries, from when it is sent, in ms. `undefined`: what is left of the render. */
  readonly timeout: number | undefined
  /** Whether two calls do no more than one. So it is with a call that only reads, and with a tool that says so. */
  readonly isRepeatable: boolean
  /** Further attempts after one that failed in passing. Only reads and idempotent tools have any. */
  readonly retries: number
  /** How long a result is good for equal arguments, in ms; 0: for the render that asked only. */
  readonly cacheTtl: number
  /** When to stop asking a tool that is down; `undefined`: never. */
  readonly breaker: BreakerPolicy | undefined
  /** Calls at a time. */
  readonly concurrency: number
  readonly onError: OnError
  /** Whether a result that violates `returns` is a failed call. */
  readonly strictReturns: boolean
}

export interface BreakerPolicy {
  /** Which share of the last calls must have failed to open the breaker. */
  readonly failureRate: number
  /** How many calls it takes to tell; of at most twice as many the rate is taken. */
  readonly minimumCalls: number
  /** How long it stays open before one call may try again, in ms. */
  readonly coolDown: number
}

/** What a registration may leave unsaid. */
export interface PolicyDefaults {
  readonly timeout?: number
  readonly retries: number
  readonly breaker: BreakerPolicy
  readonly concurrency: number
}

export const DEFAULT_POLICY: PolicyDefaults = { retries: 0, breaker: { failureRate: 0.5, minimumCalls: 10, coolDown: 10_000 }, concurrency: 64 }

/** Reads the policy of a registration that fits `jsonschema/tool.json`. */
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
