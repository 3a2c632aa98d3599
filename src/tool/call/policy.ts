import { type JsonObject } from '../../base/json.ts'

/** The reaction to a failed call of a tool: the registered default value, no value, or the end of the whole render. */
export type OnError = 'default' | 'empty' | 'abort'

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
export interface BreakerPolicy {
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
