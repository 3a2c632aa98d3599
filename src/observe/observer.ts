import type { FastifyRequest } from 'fastify'
import type { JsonObject } from '../base/json.ts'
import type { Activity, Log, ModelOperation, ModelWatch, WorkOutcome, RenderWatch, StreamFacts, ToolWatch } from '../runtime/telemetry.ts'
import { type Environment, beginningOf } from '../base/text.ts'
import type { RequestActivity, RequestObserver } from '../http/app.ts'
import { type TokenUsage, usageOfReply, usageOfStream } from '../service/chat/models.ts'
import type { EffectActivity, SessionObserver } from '../service/sessions/performer.ts'
import type { LogEntry } from '../session/model.ts'
import type { Metrics } from './metrics.ts'
import { parseTraceparent, type Span, type SpanAttributes, spanVersion, type TraceContext, type Tracer } from './span.ts'

/** Measures the wall time in which at least one of several overlapping pieces of work is running. */
export class OverlapClock {
  #running = 0
  #since = 0
  #total = 0

  /** `now` is on the clock of `performance.now()`, in ms. */
  enter (now: number): void {
    if (this.#running++ === 0) this.#since = now
  }

  leave (now: number): void {
    if (--this.#running === 0) this.#total += now - this.#since
  }

  /** In ms. */
  read (now: number): number {
    return this.#running === 0 ? this.#total : this.#total + now - this.#since
  }
}

interface ModelCallOptions {
  readonly metrics: Metrics
  readonly clock: OverlapClock
  readonly operation: ModelOperation
  readonly provider: string
  readonly request: JsonObject
  readonly prompt: string | undefined
  readonly promptRevision: string | undefined
  readonly promptVersion: number | undefined
  readonly promptLabel: string | undefined
  readonly caller: TraceContext | undefined
  readonly parent: Span | undefined
}

const DEFAULT_MODEL = '(default)'

/** In characters, since callers can write any name. */
const MAX_MODEL_NAME = 200

const STREAM_OUTCOMES = { complete: 'ok', failed: 'CUT', left: 'CLIENT_CLOSED' } as const

/** Observes one model call by OpenTelemetry's conventions: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ */
class ObservedModelCall implements ModelWatch {
  readonly traceparent: string | undefined
  readonly #options: ModelCallOptions
  readonly #model: string | undefined
  readonly #started = performance.now()
  readonly #span: Span | undefined
  #retries = 0

  constructor (options: ModelCallOptions) {
    const { clock, request, parent, caller } = options
    this.#options = options
    this.#model = typeof request['model'] === 'string' ? beginningOf(request['model'], MAX_MODEL_NAME) : undefined
    this.#span = parent && beginModelSpan(parent, options, this.#model)
    this.traceparent = this.#span?.traceparent ?? caller?.traceparent
    clock.enter(this.#started)
  }

  retried (retry: number, status: number | undefined): void {
    this.#retries++
    this.#span?.event('retry', { 'prompt_shell.retry': retry, ...(status === undefined ? {} : { 'http.response.status_code': status }) })
  }

  begun (): void {
    const { metrics, provider } = this.#options
    metrics.firstEvents.at(provider, this.#label('ok')).observe((performance.now() - this.#started) / 1000)
  }

  replied (reply: JsonObject): void {
    const usage = usageOfReply(this.#options.request, reply)
    this.#count(usage)
    const { model } = reply
    this.#end('ok', this.#span && answerAttributes(typeof model === 'string' ? model : undefined, usage))
  }

  streamed (end: StreamFacts): void {
    const usage = usageOfStream(this.#options.request, end)
    this.#count(usage)
    this.#end(STREAM_OUTCOMES[end.outcome], this.#span && answerAttributes(end.model, usage))
  }

  failed (outcome: WorkOutcome): void {
    this.#end(outcome)
  }

  #count ({ inputTokens, outputTokens }: TokenUsage): void {
    const { metrics: { tokens, promptVersions }, provider, prompt, promptVersion } = this.#options
    const version = prompt === undefined || promptVersion === undefined ? '' : promptVersions.take(`${prompt}@${promptVersion}`)
    const model = this.#label('ok')
    tokens.at(provider, model, version, 'input').inc(inputTokens)
    tokens.at(provider, model, version, 'output').inc(outputTokens)
  }

  #end (outcome: WorkOutcome, attributes: SpanAttributes = {}): void {
    const { metrics, clock, operation, provider } = this.#options
    const now = performance.now()
    const model = this.#label(outcome)
    clock.leave(now)
    metrics.modelCalls.at(provider, model, operation, outcome).observe((now - this.#started) / 1000)
    if (this.#retries > 0) metrics.modelRetries.inc({ provider, model }, this.#retries)
    this.#span?.end(attributes, outcome === 'ok' ? undefined : outcome)
  }

  /** Callers can invent models, so an unconfigured name is `(others)` until a provider has answered a call with it. */
  #label (outcome: WorkOutcome): string {
    const { models } = this.#options.metrics
    if (this.#model === undefined) return DEFAULT_MODEL
    return outcome === 'ok' ? models.take(this.#model) : models.find(this.#model)
  }
}

function beginModelSpan (parent: Span, options: ModelCallOptions, model: string | undefined): Span {
  const { operation, provider, request, prompt, promptRevision, promptVersion, promptLabel } = options
  return parent.child(model === undefined ? operation : `${operation} ${model}`, 'client', {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': model,
    'gen_ai.request.stream': request['stream'] === true ? true : undefined,
    'gen_ai.prompt.name': prompt,
    ...(promptRevision === undefined ? {} : spanVersion(promptRevision, promptVersion, promptLabel))
  })
}

/** Leaves out estimated tokens: readers of a trace would take them for the provider's. */
function answerAttributes (model: string | undefined, { inputTokens, outputTokens, isEstimate }: TokenUsage): SpanAttributes {
  return {
    'gen_ai.response.model': model?.slice(0, MAX_MODEL_NAME),
    ...(isEstimate ? {} : { 'gen_ai.usage.input_tokens': inputTokens, 'gen_ai.usage.output_tokens': outputTokens })
  }
}

const UNKNOWN_PROMPT = '(unknown)'

class ObservedWork implements Activity {
  prompt: string | undefined
  promptRevision: string | undefined
  promptVersion: number | undefined
  promptLabel: string | undefined
  renderMs: number | undefined
  readonly #metrics: Metrics
  readonly #caller: TraceContext | undefined
  readonly #span: Span | undefined
  // The parent of new spans: the render under way, else the whole work. Only one render of this work runs at a time.
  #current: Span | undefined
  #tools: OverlapClock | undefined
  #models: OverlapClock | undefined

  constructor (metrics: Metrics, caller: TraceContext | undefined, span: Span | undefined) {
    this.#metrics = metrics
    this.#caller = caller
    this.#span = span
    this.#current = span
  }

  get traceId (): string | undefined {
    return this.#span?.traceId ?? this.#caller?.traceId
  }

  get toolsMs (): number | undefined {
    return this.#tools?.read(performance.now())
  }

  get modelMs (): number | undefined {
    return this.#models?.read(performance.now())
  }

  beginRender (prompt: string, revision: string | undefined, version?: number, label?: string): RenderWatch {
    const started = performance.now()
    if (revision !== undefined) {
      this.prompt = prompt
      this.promptRevision = revision
      this.promptVersion = version
      this.promptLabel = label
    }
    const attributes = revision === undefined ? {} : { 'gen_ai.prompt.name': prompt, ...spanVersion(revision, version, label) }
    const span = this.#span?.child('render', 'internal', attributes)
    this.#current = span
    return {
      ended: (outcome, passes) => {
        const milliseconds = performance.now() - started
        const { prompts, versions, renders, renderDurations, passes: passCounts } = this.#metrics
        this.renderMs = (this.renderMs ?? 0) + milliseconds
        this.#current = this.#span
        renders.at(revision === undefined ? UNKNOWN_PROMPT : prompts.take(prompt), version === undefined ? '' : versions.take(String(version)), outcome).inc()
        renderDurations.at(outcome).observe(milliseconds / 1000)
        if (passes !== undefined) passCounts.at().observe(passes)
        span?.end(passes === undefined ? {} : { 'prompt_shell.render.passes': passes }, outcome === 'ok' ? undefined : outcome)
      }
    }
  }

  beginToolCall ({ id, name }: { readonly id: string, readonly name: string }): ToolWatch {
    const started = performance.now()
    const clock = this.#tools ??= new OverlapClock()
    clock.enter(started)
    const span = this.#current?.child(`execute_tool ${name}`, 'internal', {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.type': 'function'
    })
    return {
      traceparent: span?.traceparent ?? this.#caller?.traceparent,
      ended: (outcome, code) => {
        const now = performance.now()
        const { tools, toolCalls, toolFailures } = this.#metrics
        const tool = tools.take(id)
        clock.leave(now)
        toolCalls.at(tool, outcome).observe((now - started) / 1000)
        if (code !== undefined) toolFailures.inc({ tool, code })
        span?.end({ 'prompt_shell.tool.outcome': outcome }, code)
      }
    }
  }

  beginModelCall (operation: ModelOperation, provider: string, request: JsonObject): ModelWatch {
    const clock = this.#models ??= new OverlapClock()
    const { prompt, promptRevision, promptVersion, promptLabel } = this
    return new ObservedModelCall({
      metrics: this.#metrics,
      clock,
      operation,
      provider,
      request,
      prompt,
      promptRevision,
      promptVersion,
      promptLabel,
      caller: this.#caller,
      parent: this.#span
    })
  }
}

const NO_ROUTE = '(none)'

class ObservedRequest extends ObservedWork implements RequestActivity {
  isOver = false
  readonly #metrics: Metrics
  readonly #request: Span | undefined

  constructor (metrics: Metrics, caller: TraceContext | undefined, span: Span | undefined) {
    super(metrics, caller, span)
    this.#metrics = metrics
    this.#request = span
    metrics.requestsInFlight++
  }

  end (method: string, route: string | undefined, status: number, milliseconds: number): void {
    this.isOver = true
    const { requests, overhead } = this.#metrics
    this.#metrics.requestsInFlight--
    requests.at(method, route ?? NO_ROUTE, status).observe(milliseconds / 1000)
    const waited = (this.toolsMs ?? 0) + (this.modelMs ?? 0)
    if (this.renderMs !== undefined || waited > 0) overhead.at(route ?? NO_ROUTE).observe(Math.max(0, milliseconds - waited) / 1000)
    this.#request?.end({ 'http.response.status_code': status }, status >= 500 || status === 499 ? String(status) : undefined)
  }
}

class ObservedEffect extends ObservedWork implements EffectActivity {
  readonly #metrics: Metrics
  readonly #span: Span | undefined
  readonly #kind: string
  readonly #started = performance.now()

  constructor (metrics: Metrics, kind: string, span: Span | undefined) {
    super(metrics, undefined, span)
    this.#metrics = metrics
    this.#kind = kind
    this.#span = span
  }

  end (outcome: string): void {
    this.#metrics.sessionEffects.at(this.#kind, outcome).observe((performance.now() - this.#started) / 1000)
    this.#span?.end({}, outcome === 'ok' ? undefined : outcome)
  }
}

/** Writes metrics and traces. Without a tracer there are no spans, and a caller's trace context is only passed on. */
export function createObserver (metrics: Metrics, tracer: Tracer | undefined): RequestObserver & SessionObserver {
  return {
    begin (request: FastifyRequest) {
      const caller = parseTraceparent(request.headers.traceparent as string | undefined)
      return new ObservedRequest(metrics, caller, tracer && beginSpan(tracer, request, caller))
    },
    beginEffect ({ id, start: { definition } }, { kind }) {
      return new ObservedEffect(
        metrics,
        kind,
        tracer?.begin(`session ${kind}`, { 'prompt_shell.session.id': id, 'prompt_shell.session.definition': definition }, undefined)
      )
    },
    wrote (transition) {
      for (const decision of toolDecisionsIn(transition)) {
        const tool = metrics.tools.take(decision.tool)
        if (decision.kind === 'held') metrics.sessionToolsHeld.inc({ tool })
        else metrics.sessionToolsRefused.inc({ tool, by: decision.by })
      }
    },
    ended ({ start: { engine }, status }) {
      metrics.sessionsEnded.inc({ engine, status })
    },
    refused: () => { metrics.refused.inc() }
  }
}

function beginSpan (tracer: Tracer, { method, routeOptions: { url } }: FastifyRequest, caller: ReturnType<typeof parseTraceparent>) {
  return tracer.begin(
    url === undefined ? method : `${method} ${url}`,
    { 'http.request.method': method, 'http.route': url },
    caller
  )
}

type ToolDecision =
  | { readonly kind: 'held', readonly tool: string }
  | { readonly kind: 'refused', readonly tool: string, readonly by: 'person' | 'policy' | 'budget' }

function toolDecisionsIn ({ fact, held, denied, notices }: Pick<LogEntry, 'fact' | 'held' | 'denied' | 'notices'>): ToolDecision[] {
  const waiting = held.flatMap(({ effect }): ToolDecision[] => effect.kind === 'tool' ? [{ kind: 'held', tool: effect.tool }] : [])
  const refused = notices.flatMap(({ type, data: { phase, outcome, effect, tool } }): ToolDecision[] => {
    if (type !== 'tool' || phase !== 'ended' || outcome !== 'refused') return []
    const by = denied.find(({ id }) => id === effect)?.by ?? (fact.kind === 'refused' ? fact.by : 'person')
    return [{ kind: 'refused', tool: String(tool), by }]
  })
  return [...waiting, ...refused]
}

/** `undefined` unless OpenTelemetry's variables name an exporter. The SDK is loaded only then: it costs a tenth of a second at the start. */
export async function openTracer (environment: Environment, log: Log): Promise<Tracer | undefined> {
  if (!isConfigured(environment)) return undefined
  const protocol = environment['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] ?? environment['OTEL_EXPORTER_OTLP_PROTOCOL'] ?? 'http/json'
  if (protocol !== 'http/json') log.warn({ protocol }, 'traces are sent as http/json, which collectors take at the same address as http/protobuf')
  const { createTracer } = await import('./open-telemetry.ts')
  return createTracer(log)
}

/** https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ */
function isConfigured (environment: Environment): boolean {
  const given = (name: string): boolean => (environment[name] ?? '') !== ''
  if (environment['OTEL_SDK_DISABLED'] === 'true' || environment['OTEL_TRACES_EXPORTER'] === 'none') return false
  return given('OTEL_EXPORTER_OTLP_ENDPOINT') || given('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
}
