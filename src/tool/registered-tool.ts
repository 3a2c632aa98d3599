import { randomUUID } from 'node:crypto'
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { LRUCache } from 'lru-cache'
import { describeViolations, toolFailed } from '../base/errors.ts'
import { type Json, type JsonObject, stringifyJson } from '../base/json.ts'
import type { Activity } from '../observe/activity.ts'
import type { Log } from '../runtime/telemetry.ts'
import { redactJson } from '../base/redact.ts'
import { untilAborted } from '../runtime/deadline.ts'
import { type LinkedTool, toolCallKey } from '../template/template-function.ts'
import { markToolResult, NOTHING, type Value } from '../template/value.ts'
import type { Attempt, Connector, PreparationState } from './preparation.ts'
import type { ToolDefinition } from './definition.ts'
import { checkArguments, mapArguments } from './parameters.ts'
import { ToolError } from './tool-error.ts'
import { type BreakerState, type CallerTime, createGuard } from './guard.ts'

export interface RegisteredTool extends LinkedTool {
  readonly definition: ToolDefinition
  /** Never rejects: a failure is an outcome. */
  call (values: JsonObject, options: ToolCallOptions): Promise<ToolOutcome>
  recall (callKey: string, activity: Activity | undefined): ToolOutcome | undefined
  statistics (): ToolStatistics
  breakerState (): BreakerState | undefined
  state (): PreparationState
}

export interface ToolCallOptions {
  /** When the caller's time is over, the reason is named `TimeoutError`, or has the code `RENDER_TIMEOUT`. */
  readonly signal: AbortSignal
  readonly time?: CallerTime
  readonly requestId: string
  /** A call that is made again after a crash has the same key, so that the tool can tell. @default a new one */
  readonly idempotencyKey?: string
  readonly activity?: Activity | undefined
  /** The id that a model has given to the call. */
  readonly callId?: string | undefined
}

export interface ToolContext {
  readonly cache: ResultCache
  readonly log: Log
}

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

  /** Starts with the tool's revision, so that a changed tool gets no old results. */
  function resultKey (callKey: string): string {
    return `${revision} ${callKey}`
  }

  /** Arguments with a cached result are not checked again. */
  async function obtain (
    values: JsonObject,
    { signal, requestId, time, idempotencyKey = randomUUID() }: ToolCallOptions,
    watch: ReturnType<Activity['beginToolCall']> | undefined
  ): Promise<Result & Pick<ToolOutcome, 'outcome'>> {
    const key = keepsResults ? resultKey(toolCallKey(id, values)) : undefined
    const known = key === undefined ? undefined : cache.get(key)
    if (known !== undefined) return { ...known, outcome: 'cached' }
    const wrong = checkArguments(parameters, values)
    if (wrong.length > 0) throw new ToolError('ARGUMENTS_INVALID', describeViolations(wrong))
    const { traceparent, span } = watch ?? {}
    const value = await guard.run((inner, ends) => attempt(values, ends, { signal: inner, requestId, traceparent, span, idempotencyKey }), signal, time)
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

  async function call (values: JsonObject, options: ToolCallOptions): Promise<ToolOutcome> {
    const started = performance.now()
    const watch = options.activity?.beginToolCall(definition, options.callId, values)
    let outcome: ToolOutcome
    try {
      outcome = { ...await obtain(values, options, watch), abort: false, durationMs: performance.now() - started }
    } catch (thrown) {
      const error = thrown instanceof ToolError ? thrown : new ToolError('UNREACHABLE', 'failed in an unexpected way', { cause: thrown })
      outcome = { value: fallbackOf(definition), size: 0, outcome: 'failed', error, abort: policy.onError === 'abort', durationMs: performance.now() - started }
      log.warn({ tool: id, requestId: options.requestId, code: error.code, reason: error.summary, durationMs: outcome.durationMs }, 'a tool call failed')
    }
    counter.count(outcome)
    watch?.ended(outcome.outcome, outcome.error?.code, outcome.error === undefined ? outcome.value as Json : undefined)
    return outcome
  }

  function recall (callKey: string, activity: Activity | undefined): ToolOutcome | undefined {
    const known = keepsResults ? cache.recall(resultKey(callKey)) : undefined
    if (known === undefined) return undefined
    const outcome: ToolOutcome = { outcome: 'cached', abort: false, durationMs: 0, value: known.value, size: known.size }
    counter.count(outcome)
    activity?.beginToolCall(definition, undefined, undefined).ended('cached', undefined, known.value)
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

interface ToolStatistics {
  readonly calls: number
  readonly cached: number
  readonly errors: number
  readonly lastError: { readonly code: string, readonly message: string, readonly at: string } | undefined
  /** In ms, of calls that the cache did not answer, failed ones too; `undefined` before the first. */
  readonly latency: { readonly mean: number, readonly p50: number, readonly p99: number, readonly max: number } | undefined
}

/** In µs (ten minutes). With this limit and two significant digits, a tool's histogram takes about 20 KB. */
const LONGEST = 600_000_000

class StatisticsCounter {
  /** Created for the first call, since most tools of a large registry are never called. */
  #latency: RecordableHistogram | undefined
  #calls = 0
  #cached = 0
  #errors = 0
  #lastError: ToolStatistics['lastError']

  count ({ outcome, error, durationMs }: ToolOutcome): void {
    this.#calls++
    if (outcome === 'cached') this.#cached++
    else this.#record(Math.min(Math.max(1, Math.round(durationMs * 1000)), LONGEST))
    if (error === undefined) return
    this.#errors++
    this.#lastError = { code: error.code, message: error.summary, at: new Date().toISOString() }
  }

  read (): ToolStatistics {
    return { calls: this.#calls, cached: this.#cached, errors: this.#errors, lastError: this.#lastError, latency: this.#read() }
  }

  #record (microseconds: number): void {
    this.#latency ??= createHistogram({ lowest: 1, highest: LONGEST, figures: 2 })
    this.#latency.record(microseconds)
  }

  #read (): ToolStatistics['latency'] {
    if (this.#latency === undefined) return undefined
    const milliseconds = (microseconds: number) => Math.round(microseconds) / 1000
    const { mean, max } = this.#latency
    return {
      mean: milliseconds(mean),
      p50: milliseconds(this.#latency.percentile(50)),
      p99: milliseconds(this.#latency.percentile(99)),
      max: milliseconds(max)
    }
  }
}

export interface ToolOutcome {
  readonly value: Value
  /** In UTF-16 units of the result's JSON; 0 after a failure. */
  readonly size: number
  readonly outcome: 'ok' | 'cached' | 'failed'
  readonly error?: ToolError
  readonly abort: boolean
  readonly durationMs: number
}

function fallbackOf (definition: ToolDefinition): Value {
  return definition.policy.onError === 'empty' ? NOTHING : defaultOf(definition)
}

export function defaultOf ({ fallback }: ToolDefinition): Value {
  if (fallback === undefined) return NOTHING
  markToolResult(fallback)
  return fallback
}

/** @throws TOOL_FAILED when the tool's registration wants the render to end */
export function valueForRender (name: string, { value, abort, error }: ToolOutcome): Value {
  if (abort) throw toolFailed(name, error?.message ?? 'unknown')
  return value
}

/** In bytes, in addition to key and value: limits the number of very small results too. */
const OVERHEAD = 200

interface Result {
  readonly value: Json
  /** In UTF-16 units of JSON. */
  readonly size: number
}

/** The one cache for the results of all tools whose policy has a `cacheTtl`. */
export class ResultCache {
  readonly #results: LRUCache<string, Result>
  #hits = 0
  #misses = 0

  constructor (bytes: number) {
    this.#results = new LRUCache({ maxSize: bytes })
  }

  get (key: string): Result | undefined {
    const known = this.recall(key)
    if (known === undefined) this.#misses++
    return known
  }

  /** Counts no miss: a caller that finds none here makes the call, whose `get` counts it. */
  recall (key: string): Result | undefined {
    const known = this.#results.get(key)
    if (known !== undefined) this.#hits++
    return known
  }

  set (key: string, result: Result, ttl: number): void {
    this.#results.set(key, result, { ttl, size: key.length + result.size + OVERHEAD })
  }

  statistics () {
    return { hits: this.#hits, misses: this.#misses, entries: this.#results.size, bytes: this.#results.calculatedSize }
  }
}
