import { type ModelOperation, type ModelWatch, type Outcome, type StreamFacts } from '../runtime/activity.ts'
import { usageOfReply, usageOfStream } from '../service/chat/counted-models.ts'
import { type TokenUsage } from '../service/chat/usage-counter.ts'
import { beginningOf } from '../base/text.ts'
import { type JsonObject } from '../base/json.ts'
import { spanVersion } from './span-version.ts'
import { type Metrics } from './metrics.ts'
import { type OverlapClock } from './overlap-clock.ts'
import { type Span, type SpanAttributes, type TraceContext } from './span.ts'

export interface ModelCallOptions {
  readonly metrics: Metrics
  /** Measures the time in which at least one model call of the request is running; all model calls of the request share it. */
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

/** The value of the metrics' label `model` for a call whose request names no model, so that the provider chooses. */
const DEFAULT_MODEL = '(default)'

/** The greatest length of a model's name in a label or span, in characters, since a caller may write anything. */
const MAX_MODEL_NAME = 200

const STREAM_OUTCOMES = { complete: 'ok', failed: 'CUT', left: 'CLIENT_CLOSED' } as const

/**
 * Observes one call of a model's API for metrics and traces, by OpenTelemetry's conventions:
 * https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
 */
export class ObservedModelCall implements ModelWatch {
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
    this.#span = parent && beginSpan(parent, options, this.#model)
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

  failed (outcome: Outcome): void {
    this.#end(outcome)
  }

  #count ({ inputTokens, outputTokens }: TokenUsage): void {
    const { metrics: { tokens, promptVersions }, provider, prompt, promptVersion } = this.#options
    const version = prompt === undefined || promptVersion === undefined ? '' : promptVersions.take(`${prompt}@${promptVersion}`)
    const model = this.#label('ok')
    tokens.at(provider, model, version, 'input').inc(inputTokens)
    tokens.at(provider, model, version, 'output').inc(outputTokens)
  }

  #end (outcome: Outcome, attributes: SpanAttributes = {}): void {
    const { metrics, clock, operation, provider } = this.#options
    const now = performance.now()
    const model = this.#label(outcome)
    clock.leave(now)
    metrics.modelCalls.at(provider, model, operation, outcome).observe((now - this.#started) / 1000)
    if (this.#retries > 0) metrics.modelRetries.inc({ provider, model }, this.#retries)
    this.#span?.end(attributes, outcome === 'ok' ? undefined : outcome)
  }

  /**
   * The value of the metrics' label `model` for this call. Callers can invent names of models, so a name that is not in the configuration is
   * counted as `(others)` until a provider has answered a call with that name.
   */
  #label (outcome: Outcome): string {
    const { models } = this.#options.metrics
    if (this.#model === undefined) return DEFAULT_MODEL
    return outcome === 'ok' ? models.take(this.#model) : models.find(this.#model)
  }
}

function beginSpan (parent: Span, options: ModelCallOptions, model: string | undefined): Span {
  const { operation, provider, request, prompt, promptRevision, promptVersion, promptLabel } = options
  return parent.child(model === undefined ? operation : `${operation} ${model}`, 'client', {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': provider,
    ...(model === undefined ? {} : { 'gen_ai.request.model': model }),
    ...(request['stream'] === true ? { 'gen_ai.request.stream': true } : {}),
    ...(prompt === undefined ? {} : { 'gen_ai.prompt.name': prompt }),
    ...(promptRevision === undefined ? {} : spanVersion(promptRevision, promptVersion, promptLabel))
  })
}

/**
 * Gives the attributes of a model's answer for a span. Estimated numbers of tokens are left out, because readers of a trace would take them for
 * the provider's.
 */
function answerAttributes (model: string | undefined, { inputTokens, outputTokens, isEstimate }: TokenUsage): SpanAttributes {
  return {
    ...(model === undefined ? {} : { 'gen_ai.response.model': model.slice(0, MAX_MODEL_NAME) }),
    ...(isEstimate ? {} : { 'gen_ai.usage.input_tokens': inputTokens, 'gen_ai.usage.output_tokens': outputTokens })
  }
}
