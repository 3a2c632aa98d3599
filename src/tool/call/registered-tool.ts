import { randomUUID } from 'node:crypto'
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

/** A registered tool, ready to be called. It keeps the statistics of its calls and the state of its circuit breaker. */
export interface RegisteredTool extends LinkedTool {
  readonly definition: ToolDefinition
  /** Calls the tool once by its policy (limits, retries, cache). Never rejects: a failure is an outcome. */
  call (values: JsonObject, options: CallOptions): Promise<ToolOutcome>
  /** The cached outcome of a call with the same arguments; `undefined` when the call has to be made. @param callKey the `toolCallKey` of the call */
  recall (callKey: string, activity: Activity | undefined): ToolOutcome | undefined
  statistics (): ToolStatistics
  /** The state of the circuit breaker; `undefined` for a tool without one. */
  breakerState (): BreakerState | undefined
  /** Whether the tool is ready to be called: the state of the connection, or of whatever else its calls need. */
  state (): PreparationState
}

export interface CallOptions {
  /** Ends the call when it is aborted. When the caller's time is over, the reason is named `TimeoutError`, or has the code `RENDER_TIMEOUT`. */
  readonly signal: AbortSignal
  /** The caller's deadline. The tool learns the remaining time, if its protocol can say so. Absent for a caller without a deadline. */
  readonly time?: CallerTime
  /** The id of the HTTP request to this service that led to the call, for the log and for the tool. */
  readonly requestId: string
  /** The name of the call, by which a tool can tell that it was asked before. A call that is made again after a crash has the same. @default a new one */
  readonly idempotencyKey?: string
  /** The observer of the request, which records the call for metrics and traces. */
  readonly activity?: Activity | undefined
}

export interface ToolContext {
  readonly cache: ResultCache
  readonly log: Log
}

/** Makes a registered tool from its definition and its connector (the way to reach it). */
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

  /** The key of a result in the cache. It starts with the tool's revision (a hash of its registration), so that a changed tool gets no old results. */
  function resultKey (callKey: string): string {
    return `${revision} ${callKey}`
  }

  /** Gets the checked result of a call, from the cache or from the tool. Arguments with a cached result are not checked again. */
  async function obtain (
    values: JsonObject,
    { signal, requestId, time, idempotencyKey = randomUUID() }: CallOptions,
    traceparent: string | undefined
  ): Promise<Result & Pick<ToolOutcome, 'outcome'>> {
    const key = keepsResults ? resultKey(toolCallKey(id, values)) : undefined
    const known = key === undefined ? undefined : cache.get(key)
    if (known !== undefined) return { ...known, outcome: 'cached' }
    const wrong = checkArguments(parameters, values)
    if (wrong.length > 0) throw new ToolError('ARGUMENTS_INVALID', describeViolations(wrong))
    const value = await guard.run((inner, ends) => attempt(values, ends, { signal: inner, requestId, traceparent, idempotencyKey }), signal, time)
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
