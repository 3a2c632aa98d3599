import { type JsonObject } from '../../base/json.ts'

/** The reaction to a failed call of a tool: the registered default value, no value, or the end of the whole render. */
export type OnError = 'default' | 'empty' | 'abort'

/** The policy by which a tool is called: limits, retries, cache, and what happens on failure. */
export interface ToolPolicy {
  /** The time limit of a call with its retries, from the time when it is sent, in ms; `undefined` for the time that is left of the render. */
  readonly timeout: number | undefined
  /** Whether a repeated call has the same effect as one: true for a call that only reads, and for a tool registered as idempotent. */
  readonly isRepeatable: boolean
  /** The largest number of further attempts after a temporary failure. It is 0 unless a call may be repeated. */
  readonly retries: number
  /** The time for which a result is reused for equal arguments, in ms; 0 for only within the same render. */
  readonly cacheTtl: number
  /** The rule when to stop calling a tool that fails; `undefined` for never. */
  readonly breaker: BreakerPolicy | undefined
  /** The largest number of calls at a time. */
  readonly concurrency: number
  readonly onError: OnError
  /** Whether a result that violates the declared `returns` makes the call fail. */
  readonly strictReturns: boolean
}

/** The settings of a circuit breaker. */
export interface BreakerPolicy {
  /** The share of failed calls, among the last ones, at which the breaker opens. */
  readonly failureRate: number
  /** The smallest number of calls from which the share is taken; the largest is twice as many. */
  readonly minimumCalls: number
  /** The time after which an open breaker lets one call try again, in ms. */
  readonly coolDown: number
}

/** The defaults for those parts of a policy that a registration may leave out. */
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
