import { type Activity, type ModelOperation, type ModelWatch, type RenderWatch, type ToolWatch } from '../runtime/activity.ts'
import { type JsonObject } from '../base/json.ts'
import { spanVersion } from './span-version.ts'
import { type Metrics } from './metrics.ts'
import { ObservedModelCall } from './observed-model-call.ts'
import { OverlapClock } from './overlap-clock.ts'
import { type Span, type TraceContext } from './span.ts'

/** The value of the metrics' label `prompt` for a render whose prompt is not registered. */
const UNKNOWN_PROMPT = '(unknown)'

/**
 * Observes a piece of work, such as a request: adds up its times, and counts its renders and calls. The spans (parts of a trace) of renders
 * and calls are begun below the span of this work.
 */
export class ObservedWork implements Activity {
  prompt: string | undefined
  promptRevision: string | undefined
  promptVersion: number | undefined
  promptLabel: string | undefined
  renderMs: number | undefined
  readonly #metrics: Metrics
  readonly #caller: TraceContext | undefined
  readonly #span: Span | undefined
  // The span below which calls begin: that of the render under way, else that of the whole work. Only one render of this work runs at a time.
  #current: Span | undefined
  #tools: OverlapClock | undefined
  #models: OverlapClock | undefined

  /** @param span the span of the work; `undefined` when traces are not exported */
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
