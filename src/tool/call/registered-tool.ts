import { type Log } from '../../base/log.ts'
import { type Activity } from '../../runtime/activity.ts'
import { describeViolations } from '../../base/errors.ts'
import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { type LinkedTool, toolCallKey } from '../../template/run/tool-call.ts'
import { markToolResult } from '../../template/value.ts'
import { checkArguments, mapArguments } from './arguments.ts'
import { type Attempt, type Connector } from '../connector.ts'
import { type BreakerState } from './breaker.ts'
import { untilAborted } from '../../runtime/until-aborted.ts'
import { type ToolDefinition } from '../definition/definition.ts'
import { type CallerTime, createGuard } from './guard.ts'
import { fallbackOf, type ToolOutcome } from './outcome.ts'
import { type PreparationState } from './preparation.ts'
import { type Result, type ResultCache } from './result-cache.ts'
import { redactJson } from '../../base/redact.ts'
import { StatisticsCounter, type ToolStatistics } from './statistics.ts'
import { ToolError } from './tool-error.ts'

/** A tool that can be called: its definition, its connection, and what was learned from its calls. */
export interface RegisteredTool extends LinkedTool {
  readonly definition: ToolDefinition
  /** Makes one call under the tool's policy. Never rejects. */
  call (values: JsonObject, options: CallOptions): Promise<ToolOutcome>
  /** The result that `call` would give at once, from the cache; `undefined` when the call must be made. @param callKey the `toolCallKey` of the call */
  recall (callKey: string, activity: Activity | undefined): ToolOutcome | undefined
  statistics (): ToolStatistics
  /** The state of the circuit breaker; `undefined` for a tool without one. */
  breakerState (): BreakerState | undefined
  /** Whether the resource that the tool's calls need, such as a connection, is ready. */
  state (): PreparationState
}

export interface CallOptions {
  /** Ends the call. When the caller's time is over, the reason's name is `TimeoutError`, or its code is `RENDER_TIMEOUT`. */
  readonly signal: AbortSignal
  /** The time that the caller has. The tool is told its end where the protocol allows that. Left out for a caller who waits without end. */
  readonly time?: CallerTime
  /** The id of the HTTP request for which the call is made, for the log and for the tool. */
  readonly requestId: string
  /** The observer to which the call is reported. */
  readonly activity?: Activity | undefined
}

export interface ToolContext {
  readonly cache: ResultCache
  readonly log: Log
}

/** Makes a callable tool from its definition and its connector. */
export function createRegisteredTool (definition: ToolDefinition, connector: Connector, { cache, log }: ToolContext): RegisteredTool {
  const { id, name, parameters, returns, policy, revision } = definition
  const guard = createGuard(policy)
  const keepsResults = policy.cacheTtl > 0
  const counter = new StatisticsCounter()

  async function attempt (values: JsonObject, ends: number, attempt: Omit<Attempt, 'timeLeft'>): Promise<Json> {
    const timeLeft = ends === Infinity ? undefined : Math.max(1, ends - performance.now())
    const { value, secrets } = await untilAborted(attempt.signal, connector.call(values, { ...attempt, timeLeft }))
    return redactJson(value, secrets)
  }

  /** The key under which a result is cached. */
  function resultKey (callKey: string): string {
    return `${revision} ${callKey}`
  }

  /** The checked result of a call. Arguments with a cached result are not checked again, because they were checked when it was obtained. */
  async function obtain (
    values: JsonObject,
    { signal, requestId, time }: CallOptions,
    traceparent: string | undefined
  ): Promise<Result & Pick<ToolOutcome, 'outcome'>> {
    const key = keepsResults ? resultKey(toolCallKey(id, values)) : undefined
    const known = key === undefined ? undefined : cache.get(key)
    if (known !== undefined) return { ...known, outcome: 'cached' }
    const wrong = checkArguments(parameters, values)
    if (wrong.length > 0) throw new ToolError('ARGUMENTS_INVALID', describeViolations(wrong))
    const value = await guard.run((inner, ends) => attempt(values, ends, { signal: inner, requestId, traceparent }), signal, time)
    checkReturns(value, requestId)
    markToolResult(value)
    const result = { value, size: stringifyJson(value).length }
    if (key !== undefined) cache.set(key, result, policy.cacheTtl)
    return { ...result, outcome: 'ok' }
  }

  function checkReturns (value: Json, requestId: string): void {
    const violations = returns?.compiled.validate(value, 'result') ?? []
    if (violations.length === 0) return
    const description = describeViolations(violations)
    if (policy.strictReturns) throw new ToolError('RETURNS_INVALID', description)
    log.warn({ tool: id, requestId, violations: description }, 'a tool gave a result that violates its "returns"')
  }

  async function call (values: JsonObject, options: CallOptions): Promise<ToolOutcome> {
    const started = performance.now()
    const watch = options.activity?.beginToolCall(definition)
    let outcome: ToolOutcome
    try {
      outcome = { ...await obtain(values, options, watch?.traceparent), abort: false, durationMs: performance.now() - started }
    } catch (thrown) {
      const error = thrown instanceof ToolError ? thrown : new ToolError('UNREACHABLE', 'failed in an unexpected way', { cause: thrown })
      outcome = { value: fallbackOf(definition), size: 0, outcome: 'failed', error, abort: policy.onError === 'abort', durationMs: performance.now() - started }
      log.warn({ tool: id, requestId: options.requestId, code: error.code, reason: error.summary, durationMs: outcome.durationMs }, 'a tool call failed')
    }
    counter.count(outcome)
    watch?.ended(outcome.outcome, outcome.error?.code)
    return outcome
  }

  function recall (callKey: string, activity: Activity | undefined): ToolOutcome | undefined {
    const known = keepsResults ? cache.recall(resultKey(callKey)) : undefined
    if (known === undefined) return undefined
    const outcome: ToolOutcome = { outcome: 'cached', abort: false, durationMs: 0, value: known.value, size: known.size }
    counter.count(outcome)
    activity?.beginToolCall(definition).ended('cached')
    return outcome
  }

  return {
    kind: 'tool',
    name,
    id,
    definition,
    mapArguments: (positional, named) => mapArguments(parameters, positional, named),
    call,
    recall,
    statistics: () => counter.read(),
    breakerState: guard.breakerState,
    state: () => connector.state()
  }
}
