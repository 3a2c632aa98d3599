import { type JsonObject } from '../../base/json.ts'

/** What happens to a render when the call of a tool fails: the declared default or nothing takes the place of the result, or the render ends. */
export type OnError = 'default' | 'empty' | 'abort'

/** The policy of a tool: how it is called. */
export interface ToolPolicy {
  /** The time for the whole call with its retries, in ms; `undefined` for the time that is left of the render. */
  readonly timeout: number | undefined
  /** Whether two calls have the same effect as one. That is true for a call that only reads, and for a tool that is registered as idempotent. */
  readonly isRepeatable: boolean
  /** How many attempts may follow one with a failure that may pass. It is 0 unless the call is repeatable. */
  readonly retries: number
  /** How long a result is reused for equal arguments, in ms; 0 for only within the render that asked. */
  readonly cacheTtl: number
  /** The settings of the circuit breaker, which stops calls to a tool that is down; `undefined` for none. */
  readonly breaker: BreakerPolicy | undefined
  /** The greatest number of calls at a time. */
  readonly concurrency: number
  readonly onError: OnError
  /** Whether a result that violates the schema in `returns` makes the call a failed one. */
  readonly strictReturns: boolean
}

/** The settings of a circuit breaker. */
export interface BreakerPolicy {
  /** The share of the last calls that must have failed for the breaker to open. */
  readonly failureRate: number
  /** The number of calls that are needed to decide. The share is taken of at most twice as many. */
  readonly minimumCalls: number
  /** How long the breaker stays open before one call may try the tool again, in ms. */
  readonly coolDown: number
}

/** The defaults for what a tool's registration may leave out. */
export interface PolicyDefaults {
  readonly timeout?: number
  readonly retries: number
  readonly breaker: BreakerPolicy
  readonly concurrency: number
}

export const DEFAULT_POLICY: PolicyDefaults = { retries: 0, breaker: { failureRate: 0.5, minimumCalls: 10, coolDown: 10_000 }, concurrency: 64 }

/** Reads the policy from a tool's registration that fits `jsonschema/tool.json`. */
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
