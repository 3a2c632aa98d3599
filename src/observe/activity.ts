import type { Attributes } from '@opentelemetry/api'
import { type Json, type JsonObject, listOf, objectOf, textIn } from '../base/json.ts'
import { beginningOf, type Environment } from '../base/text.ts'
import type { Log } from '../runtime/telemetry.ts'
import type { Metrics } from './metrics.ts'
import type { TokenCounts } from './prices.ts'
import type { Span, Tracer, Turn } from './open-telemetry.ts'

// What a request or an effect of a session does is told to its activity, where it happens: it counts, and writes spans. Spans never contain
// secrets, and what was said only where the operator wants it. Without a tracer there are no spans, and a caller's trace context is only passed on.

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

export interface TokenUsage extends TokenCounts {
  readonly isEstimate: boolean
}

/** A W3C trace context: https://www.w3.org/TR/trace-context/ */
interface TraceContext {
  readonly traceparent: string
  readonly traceId: string
}

const UNKNOWN_PROMPT = '(unknown)'

/** What is rendered, called and asked for one request or effect. An outcome is `ok`, a word or a stable code, and becomes a label of metrics. */
export class Activity {
  prompt: string | undefined
  promptRevision: string | undefined
  /** `undefined` for a prompt without versions or labels. */
  promptVersion: number | undefined
  promptLabel: string | undefined
  /** With the tools that templates called, in ms of wall time; `undefined` when nothing was rendered. */
  renderMs: number | undefined
  readonly metrics: Metrics
  readonly caller: TraceContext | undefined
  readonly span: Span | undefined
  /** The parent of renders and calls of models: a message within the request, else the whole request or effect. */
  work: Span | undefined
  // The parent of calls of tools: the render under way, else the work. Only one render of this work runs at a time.
  #current: Span | undefined
  #tools: OverlapClock | undefined
  #models: OverlapClock | undefined

  constructor (metrics: Metrics, caller: TraceContext | undefined, span: Span | undefined) {
    this.metrics = metrics
    this.caller = caller
    this.span = span
    this.work = span
    this.#current = span
  }

  /** What every call of a model tells of its work. Asked for only where there is a span. */
  get about (): Attributes {
    return {}
  }

  /** An MCP message that came within the request, and that all that follows belongs to. */
  beginMessage (name: string, attributes: Attributes, traceparent: string | undefined): Span | undefined {
    this.work = this.span?.message(name, attributes, parseTraceparent(traceparent)?.traceparent)
    this.#current = this.work
    return this.work
  }

  /** From the caller, or of the trace that begins here; `undefined` when none was sent and traces are not exported. */
  get traceId (): string | undefined {
    return this.span?.traceId ?? this.caller?.traceId
  }

  /** Wall time in which at least one tool was being called, in ms. */
  get toolsMs (): number | undefined {
    return this.#tools?.read(performance.now())
  }

  /** Wall time, in ms. */
  get modelMs (): number | undefined {
    return this.#models?.read(performance.now())
  }

  /** `revision` is `undefined` when no prompt is registered under that id. */
  beginRender (prompt: string, revision: string | undefined, version?: number, label?: string) {
    const started = performance.now()
    if (revision !== undefined) {
      this.prompt = prompt
      this.promptRevision = revision
      this.promptVersion = version
      this.promptLabel = label
    }
    const span = this.work?.child('render', 'internal', revision === undefined ? {} : promptAttributes(prompt, revision, version, label))
    this.#current = span
    return {
      /** `passes`: how often the template was run; `undefined` when the render failed. */
      ended: (outcome: string, passes?: number) => {
        const milliseconds = performance.now() - started
        const { prompts, versions, renders, renderDurations, passes: passCounts } = this.metrics
        this.renderMs = (this.renderMs ?? 0) + milliseconds
        this.#current = this.work
        renders.at(revision === undefined ? UNKNOWN_PROMPT : prompts.take(prompt), version === undefined ? '' : versions.take(String(version)), outcome).inc()
        renderDurations.at(outcome).observe(milliseconds / 1000)
        if (passes !== undefined) passCounts.at().observe(passes)
        span?.end(passes === undefined ? {} : { 'prompt_shell.render.passes': passes }, outcome === 'ok' ? undefined : outcome)
      }
    }
  }

  /** @param call the id that a model has given to the call */
  beginToolCall (
    { id, name, description }: { readonly id: string, readonly name: string, readonly description: string },
    call: string | undefined,
    values: JsonObject | undefined
  ) {
    const started = performance.now()
    const clock = this.#tools ??= new OverlapClock()
    clock.enter(started)
    const span = this.#current?.child(`execute_tool ${name}`, 'internal', {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.description': description === '' ? undefined : beginningOf(description, MAX_DESCRIPTION),
      'gen_ai.tool.call.id': call,
      ...(values === undefined ? {} : this.#current.content?.arguments(values))
    })
    return {
      span,
      traceparent: span?.traceparent ?? this.caller?.traceparent,
      /** `result` is left out where the call gave none. */
      ended: (outcome: 'ok' | 'cached' | 'failed', code?: string, result?: Json) => {
        const now = performance.now()
        const { tools, toolCalls, toolFailures } = this.metrics
        const tool = tools.take(id)
        clock.leave(now)
        toolCalls.at(tool, outcome).observe((now - started) / 1000)
        if (code !== undefined) toolFailures.inc({ tool, code })
        span?.end({ 'prompt_shell.tool.outcome': outcome, ...(result === undefined ? {} : span.content?.result(result)) }, code)
      }
    }
  }

  beginModelCall (operation: 'chat' | 'embeddings', provider: AskedProvider, model: Json | undefined, isStream: boolean): ModelCall {
    this.#models ??= new OverlapClock()
    return new ModelCall(this, this.#models, operation, provider, typeof model === 'string' ? beginningOf(model, MAX_MODEL_NAME) : undefined, isStream)
  }
}

const DEFAULT_MODEL = '(default)'

/** In characters, since callers and models can write any name. */
const MAX_MODEL_NAME = 200

/** In characters. */
const MAX_DESCRIPTION = 1000

/** As many as OpenAI's API takes. */
const MAX_CHOICES = 128

export interface AskedProvider {
  /** The operator's, which metrics have. */
  readonly name: string
  readonly attributes: Attributes
}

const STREAM_OUTCOMES = { complete: 'ok', failed: 'CUT', left: 'CLIENT_CLOSED' } as const

/**
 * One call of a model, by OpenTelemetry's conventions: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
 * The last report is exactly one of `replied`, `streamed` and `failed`.
 */
export class ModelCall {
  /** The W3C trace context to send with the call; `undefined` when there is none. */
  readonly traceparent: string | undefined
  readonly #metrics: Metrics
  readonly #clock: OverlapClock
  readonly #operation: 'chat' | 'embeddings'
  readonly #provider: string
  readonly #version: string | undefined
  readonly #model: string | undefined
  readonly #started = performance.now()
  readonly #span: Span | undefined
  #retries = 0

  constructor (
    activity: Activity,
    clock: OverlapClock,
    operation: 'chat' | 'embeddings',
    provider: AskedProvider,
    model: string | undefined,
    isStream: boolean
  ) {
    const { metrics, caller, work: span, prompt, promptRevision, promptVersion, promptLabel } = activity
    this.#metrics = metrics
    this.#clock = clock
    this.#operation = operation
    this.#provider = provider.name
    this.#version = prompt === undefined || promptVersion === undefined ? undefined : `${prompt}@${promptVersion}`
    this.#model = model
    this.#span = span?.child(model === undefined ? operation : `${operation} ${model}`, 'client', {
      'gen_ai.operation.name': operation,
      ...provider.attributes,
      'gen_ai.request.model': model,
      'gen_ai.request.stream': isStream ? true : undefined,
      ...(prompt === undefined || promptRevision === undefined ? {} : promptAttributes(prompt, promptRevision, promptVersion, promptLabel)),
      ...(prompt === undefined || promptVersion === undefined ? {} : backendAttributes(prompt, promptVersion, promptLabel)),
      ...activity.about
    })
    this.traceparent = this.#span?.traceparent ?? caller?.traceparent
    clock.enter(this.#started)
  }

  /** `retry` counts new attempts from 1; `status` is the HTTP status of the failed one, if any. */
  retried (retry: number, status: number | undefined): void {
    this.#retries++
    this.#span?.event('retry', { 'prompt_shell.retry': retry, ...(status === undefined ? {} : { 'http.response.status_code': status }) })
  }

  /** What has to be told of the reply of a stream: its id and finish reasons, or also what was said, which is then told by `asked` too. */
  get traced (): 'facts' | 'content' | undefined {
    return this.#span && (this.#span.content === undefined ? 'facts' : 'content')
  }

  /** @param member of the request */
  asked (member: (name: string) => Json | undefined): void {
    const span = this.#span
    if (span === undefined) return
    span.set(this.#operation === 'chat' ? chatAttributes(member) : { 'gen_ai.request.encoding_formats': textsOf(member('encoding_format')) })
    if (this.#operation !== 'chat' || span.content === undefined) return
    span.set(span.content.input({ messages: member('messages'), tools: member('tools'), stop: member('stop') }))
  }

  begun (): void {
    const seconds = (performance.now() - this.#started) / 1000
    this.#metrics.firstEvents.at(this.#provider, this.#label('ok')).observe(seconds)
    this.#span?.set({ 'gen_ai.response.time_to_first_chunk': seconds })
  }

  replied (usage: TokenUsage, reply: JsonObject): void {
    this.#end('ok', this.#answered(usage, reply['model'], this.#span === undefined ? undefined : reply))
  }

  /** @param reply what is known of it, in the form of a whole one */
  streamed (outcome: keyof typeof STREAM_OUTCOMES, usage: TokenUsage, model?: string, reply?: JsonObject): void {
    this.#end(STREAM_OUTCOMES[outcome], this.#answered(usage, model, reply))
  }

  failed (outcome: string): void {
    this.#end(outcome)
  }

  #answered (usage: TokenUsage, answered: unknown, reply: JsonObject | undefined): Attributes | undefined {
    const { tokens, costs, unpriced, prices, promptVersions } = this.#metrics
    const version = this.#version === undefined ? '' : promptVersions.take(this.#version)
    const model = this.#label('ok')
    tokens.at(this.#provider, model, version, 'input').inc(usage.inputTokens)
    tokens.at(this.#provider, model, version, 'output').inc(usage.outputTokens)
    const cost = prices.costOf(typeof answered === 'string' ? answered : this.#model ?? '', usage)
    if (cost === undefined) unpriced.at(this.#provider, model).inc()
    else costs.at(this.#provider, model, version).inc(cost / 1e9)
    return this.#span && {
      ...answerAttributes(this.#operation, answered, usage),
      ...(reply === undefined
        ? {}
        : this.#operation === 'embeddings'
          ? { 'gen_ai.embeddings.dimension.count': dimensionsOf(reply) }
          : { ...replyAttributes(reply), ...this.#span.content?.output(reply['choices']) }),
      'prompt_shell.cost.usd': cost === undefined ? undefined : cost / 1e9,
      'llm.cost.total': cost === undefined ? undefined : cost / 1e9
    }
  }

  #end (outcome: string, attributes: Attributes = {}): void {
    const now = performance.now()
    const model = this.#label(outcome)
    this.#clock.leave(now)
    this.#metrics.modelCalls.at(this.#provider, model, this.#operation, outcome).observe((now - this.#started) / 1000)
    if (this.#retries > 0) this.#metrics.modelRetries.inc({ provider: this.#provider, model }, this.#retries)
    this.#span?.end(attributes, outcome === 'ok' ? undefined : outcome)
  }

  /** Callers can invent models, so an unconfigured name is `(others)` until a provider has answered a call with it. */
  #label (outcome: string): string {
    const { models } = this.#metrics
    if (this.#model === undefined) return DEFAULT_MODEL
    return outcome === 'ok' ? models.take(this.#model) : models.find(this.#model)
  }
}

/** Stop sequences are texts of whoever asks, so they are content. */
function chatAttributes (member: (name: string) => Json | undefined): Attributes {
  const number = (name: string): number | undefined => {
    const value = member(name)
    return typeof value === 'number' ? value : undefined
  }
  const choices = number('n')
  return {
    'gen_ai.request.choice.count': choices === 1 ? undefined : choices,
    'gen_ai.request.seed': number('seed'),
    'gen_ai.request.max_tokens': number('max_completion_tokens') ?? number('max_tokens'),
    'gen_ai.request.temperature': number('temperature'),
    'gen_ai.request.top_p': number('top_p'),
    'gen_ai.request.top_k': number('top_k'),
    'gen_ai.request.frequency_penalty': number('frequency_penalty'),
    'gen_ai.request.presence_penalty': number('presence_penalty'),
    'gen_ai.output.type': OUTPUT_TYPES.get(textIn(objectOf(member('response_format')), 'type'))
  }
}

/** The convention's words for OpenAI's. */
const OUTPUT_TYPES: ReadonlyMap<string, string> = new Map([['text', 'text'], ['json_object', 'json'], ['json_schema', 'json']])

function textsOf (value: Json | undefined): string[] | undefined {
  return typeof value === 'string' ? [value.slice(0, MAX_MODEL_NAME)] : undefined
}

function dimensionsOf ({ data }: JsonObject): number | undefined {
  const { embedding } = objectOf(listOf(data)[0])
  return Array.isArray(embedding) ? embedding.length : undefined
}

/** Leaves out estimated tokens: readers of a trace would take them for the provider's. */
function answerAttributes (
  operation: 'chat' | 'embeddings',
  model: unknown,
  { inputTokens, outputTokens, cachedTokens, reasoningTokens, isEstimate }: TokenUsage
): Attributes {
  return {
    'gen_ai.response.model': typeof model === 'string' ? model.slice(0, MAX_MODEL_NAME) : undefined,
    ...(isEstimate
      ? {}
      : {
          'gen_ai.usage.input_tokens': inputTokens,
          'gen_ai.usage.output_tokens': operation === 'chat' ? outputTokens : undefined,
          'gen_ai.usage.cache_read.input_tokens': cachedTokens,
          'gen_ai.usage.reasoning.output_tokens': reasoningTokens
        })
  }
}

function replyAttributes ({ id, choices }: JsonObject): Attributes {
  const reasons = listOf(choices).slice(0, MAX_CHOICES).map(choice => textIn(choice, 'finish_reason').slice(0, MAX_MODEL_NAME)).filter(reason => reason !== '')
  return {
    'gen_ai.response.id': typeof id === 'string' ? id.slice(0, MAX_MODEL_NAME) : undefined,
    'gen_ai.response.finish_reasons': reasons.length === 0 ? undefined : reasons
  }
}

const NO_ROUTE = '(none)'

export class RequestActivity extends Activity {
  isOver = false

  constructor ({ metrics, tracer }: Observer, method: string, route: string | undefined, traceparent: string | string[] | undefined) {
    const caller = parseTraceparent(traceparent)
    const name = route === undefined ? method : `${method} ${route}`
    super(metrics, caller, tracer?.begin(name, { 'http.request.method': method, 'http.route': route }, caller?.traceparent))
    metrics.requestsInFlight++
  }

  /** The reply is complete, or the client has left. @param route its pattern; `undefined` when none matched */
  end (method: string, route: string | undefined, status: number, milliseconds: number): void {
    this.isOver = true
    const { requests, overhead } = this.metrics
    this.metrics.requestsInFlight--
    requests.at(method, route ?? NO_ROUTE, status).observe(milliseconds / 1000)
    const waited = (this.toolsMs ?? 0) + (this.modelMs ?? 0)
    if (this.renderMs !== undefined || waited > 0) overhead.at(route ?? NO_ROUTE).observe(Math.max(0, milliseconds - waited) / 1000)
    this.span?.end({ 'http.response.status_code': status }, status >= 500 || status === 499 ? String(status) : undefined)
  }
}

export class EffectActivity extends Activity {
  readonly #kind: string
  readonly #about: Attributes
  readonly #started = performance.now()

  /**
   * @param about the session and what acts in it
   * @param turn of the session, for its trace; `undefined` for a session that has no turns
   */
  constructor (
    { metrics, tracer }: Observer,
    { id, kind }: { readonly id: string, readonly kind: string },
    session: string,
    definition: string,
    about: Attributes,
    turn: Turn | undefined
  ) {
    super(metrics, undefined, tracer && beginEffect(tracer, kind, id, session, definition, turn))
    this.#kind = kind
    this.#about = about
  }

  override get about (): Attributes {
    return this.#about
  }

  end (outcome: string): void {
    this.metrics.sessionEffects.at(this.#kind, outcome).observe((performance.now() - this.#started) / 1000)
    this.span?.end({}, outcome === 'ok' ? undefined : outcome)
  }
}

function beginEffect (tracer: Tracer, kind: string, id: string, session: string, definition: string, turn: Turn | undefined): Span {
  const name = `session ${kind}`
  const attributes = { 'prompt_shell.session.id': session, 'prompt_shell.session.definition': definition, 'prompt_shell.session.effect': id }
  if (turn === undefined) return tracer.begin(name, attributes, undefined)
  return kind === 'child' ? tracer.beginTurn(turn).effect(name, attributes, session, id) : tracer.beginTurn(turn).child(name, 'internal', attributes)
}

/** Where what the service does is counted and traced. */
export interface Observer {
  readonly metrics: Metrics
  readonly tracer: Tracer | undefined
}

const TRACEPARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/

/** Parts that a later version of the standard may add are ignored, as the standard demands. */
export function parseTraceparent (header: string | string[] | undefined): TraceContext | undefined {
  if (typeof header !== 'string') return undefined
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(header) ?? []
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return undefined
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, traceId }
}

/** Not `gen_ai.prompt.…`: Langfuse takes every attribute that begins so for what was asked, in place of the messages. */
function promptAttributes (prompt: string, revision: string, version: number | undefined, label: string | undefined): Attributes {
  return {
    'prompt_shell.prompt.name': prompt,
    'prompt_shell.prompt.revision': revision,
    'prompt_shell.prompt.version': version,
    'prompt_shell.prompt.label': label
  }
}

/** As Langfuse and Phoenix read which version of a prompt an answer came from: https://langfuse.com/integrations/native/opentelemetry, OpenInference. */
function backendAttributes (prompt: string, version: number, label: string | undefined): Attributes {
  return {
    'langfuse.observation.prompt.name': prompt,
    'langfuse.observation.prompt.version': version,
    'langfuse.observation.metadata.prompt_label': label,
    'prompt.id': prompt,
    'llm.prompt_template.version': String(version)
  }
}

const [PROTOBUF, JSON_TEXT] = ['http/protobuf', 'http/json']

/** `undefined` unless OpenTelemetry's variables name an exporter. The SDK is loaded only then: it costs a tenth of a second at the start. */
export async function openTracer (environment: Environment, log: Log): Promise<Tracer | undefined> {
  if (!isConfigured(environment)) return undefined
  const protocol = environment['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] || environment['OTEL_EXPORTER_OTLP_PROTOCOL'] || PROTOBUF
  if (protocol !== PROTOBUF && protocol !== JSON_TEXT) log.warn({ protocol }, 'traces are sent as http/protobuf, which most collectors take at port 4318')
  const { Tracer } = await import('./open-telemetry.ts')
  const { OTLPTraceExporter } = protocol === JSON_TEXT
    ? await import('@opentelemetry/exporter-trace-otlp-http')
    : await import('@opentelemetry/exporter-trace-otlp-proto')
  return new Tracer(log, OTLPTraceExporter, environment['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT']?.toLowerCase() === 'true')
}

/** https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ */
function isConfigured (environment: Environment): boolean {
  const given = (name: string): boolean => (environment[name] ?? '') !== ''
  if (environment['OTEL_SDK_DISABLED'] === 'true' || environment['OTEL_TRACES_EXPORTER'] === 'none') return false
  return given('OTEL_EXPORTER_OTLP_ENDPOINT') || given('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
}
