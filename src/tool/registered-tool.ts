import { LRUCache } from 'lru-cache'
import { canonicalJson, stringifyJson } from '../json.ts'
import { type LinkedTool } from '../template/run.ts'
import { type Json, type JsonObject, markToolResult } from '../template/value.ts'
import { checkArguments, mapArguments } from './arguments.ts'
import { type Connector } from './connector.ts'
import { untilAborted, withDeadline } from './deadline.ts'
import { type ToolDefinition } from './definition.ts'
import { createGuard } from './guard.ts'
import { fallbackOf, type ToolOutcome } from './outcome.ts'
import { type PreparationState } from './preparation.ts'
import { redact } from './secrets.ts'
import { StatisticsCounter, type ToolStatistics } from './statistics.ts'
import { ToolError } from './tool-error.ts'
import { describeViolations } from './violation.ts'

/** A tool that can be called: its definition, the way to it, and what calling it has taught. */
export interface RegisteredTool extends LinkedTool {
  readonly definition: ToolDefinition
  /** Makes one call under the tool's policy. Never rejects. */
  call (values: JsonObject, options: CallOptions): Promise<ToolOutcome>
  statistics (): ToolStatistics
  /** Whether what its calls need, such as a connection, is there. */
  state (): PreparationState
}

export interface CallOptions {
  /** Ends the call: a reason called `TimeoutError`, or with the code `RENDER_TIMEOUT`, counts as the tool's failure. */
  readonly signal: AbortSignal
  /** When the signal will be aborted, on the clock of `performance.now()`; tools are told where the protocol can. */
  readonly deadline?: number
  /** Of the HTTP request that asked, for the log. */
  readonly requestId: string
}

/** Where a tool's calls are told. */
export interface ToolLog {
  warn (fields: object, message: string): void
}

/** Results of all tools that are kept beyond their render, by revision and arguments. */
export type ResultCache = LRUCache<string, { readonly value: Json }>

/** @param bytes how much of them is kept, counted as JSON */
export function createResultCache (bytes: number): ResultCache {
  return new LRUCache({ maxSize: bytes, max: 10_000 })
}

export interface Surroundings {
  readonly cache: ResultCache
  readonly log: ToolLog
}

/** Makes a tool of its definition and the way to reach it. */
export function createRegisteredTool (definition: ToolDefinition, connector: Connector, { cache, log }: Surroundings): RegisteredTool {
  const { id, name, parameters, returns, policy, revision } = definition
  const guard = createGuard(policy)
  const counter = new StatisticsCounter()

  async function attempt (values: JsonObject, signal: AbortSignal, ends: number): Promise<Json> {
    const timeLeft = ends === Infinity ? undefined : Math.max(1, ends - performance.now())
    const { value, secrets } = await untilAborted(signal, connector.call(values, { signal, timeLeft }))
    return redact(value, secrets)
  }

  /** The checked result. Arguments that have a cached one were checked when it was obtained. */
  async function obtain (values: JsonObject, { signal, requestId, deadline = Infinity }: CallOptions): Promise<Pick<ToolOutcome, 'outcome'> & { value: Json }> {
    const key = policy.cacheTtl > 0 ? `${revision} ${canonicalJson(values)}` : undefined
    const known = key === undefined ? undefined : cache.get(key)
    if (known !== undefined) return { value: known.value, outcome: 'cached' }
    const wrong = checkArguments(parameters, values)
    if (wrong.length > 0) throw new ToolError('ARGUMENTS_INVALID', describeViolations(wrong))
    const ends = Math.min(deadline, performance.now() + (policy.timeout ?? Infinity))
    const value = await withDeadline(signal, policy.timeout, inner => guard(() => attempt(values, inner, ends), inner))
    checkReturns(value, requestId)
    markToolResult(value)
    if (key !== undefined) cache.set(key, { value }, { ttl: policy.cacheTtl, size: key.length + stringifyJson(value).length })
    return { value, outcome: 'ok' }
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
    let outcome: ToolOutcome
    try {
      outcome = { ...await obtain(values, options), abort: false, durationMs: performance.now() - started }
    } catch (thrown) {
      const error = thrown instanceof ToolError ? thrown : new ToolError('UNREACHABLE', 'failed in an unexpected way', { cause: thrown })
      outcome = { value: fallbackOf(definition), outcome: 'failed', error, abort: policy.onError === 'abort', durationMs: performance.now() - started }
      log.warn({ tool: id, requestId: options.requestId, code: error.code, reason: error.message, durationMs: outcome.durationMs }, 'a tool call failed')
    }
    counter.count(outcome)
    return outcome
  }

  return {
    kind: 'tool',
    name,
    id,
    definition,
    mapArguments: (positional, named) => mapArguments(parameters, positional, named),
    call,
    statistics: () => counter.read(),
    state: () => connector.state()
  }
}
