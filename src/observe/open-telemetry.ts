import { type Log } from '../runtime/telemetry.ts'
import {
  type Attributes,
  type Context,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  type Span as OpenTelemetrySpan,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  trace,
  type Tracer as OpenTelemetryTracer
} from '@opentelemetry/api'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor, type IdGenerator, RandomIdGenerator, type SpanExporter } from '@opentelemetry/sdk-trace-base'
import { createHash } from 'node:crypto'
import { ENGINE_NAME, ENGINE_VERSION } from '../base/version.ts'
import { CONTENT, type Content } from './content.ts'

/** In ms. */
const CLOSE_PATIENCE = 3000

const KINDS = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT } as const

/** What a session does from an input on until it waits for the next one. */
export interface Turn {
  readonly session: string
  readonly number: number
  /** In ms since 1970. */
  readonly began: number
  /** Such as `agents/helper`. */
  readonly definition: string
  readonly revision: string
  readonly operation: 'invoke_agent' | 'invoke_workflow'
  readonly name: string
  readonly about: Attributes
  /** The effect of another session by which this session was started. */
  readonly above: { readonly turn: Turn, readonly effect: string } | undefined
}

/** Exports traces as OTLP over HTTP. OpenTelemetry's SDK reads its standard environment variables itself. */
export class Tracer {
  readonly #provider: BasicTracerProvider
  readonly #tracer: SpanMaker

  /** @param capturesContent whether spans have what was said to models and tools */
  constructor (log: Log, Exporter: new () => SpanExporter, capturesContent: boolean) {
    logProblems(log)
    const ids = new Ids()
    const resource = resourceFromAttributes({ 'service.name': ENGINE_NAME, 'service.version': ENGINE_VERSION }).merge(
      detectResources({ detectors: [envDetector] })
    )
    this.#provider = new BasicTracerProvider({ resource, idGenerator: ids, spanProcessors: [new BatchSpanProcessor(new Exporter())] })
    this.#tracer = { tracer: this.#provider.getTracer(ENGINE_NAME, ENGINE_VERSION), ids, content: capturesContent ? CONTENT : undefined }
  }

  begin (name: string, attributes: Attributes, parent: string | undefined): Span {
    return new Span(this.#tracer, parent === undefined ? ROOT_CONTEXT : remote(parent), name, { kind: SpanKind.SERVER, attributes })
  }

  /**
   * The span of a whole turn. Its ids follow from the session and the number of the turn, so that all replicas that work on the turn write into
   * one trace; whoever ends the turn ends the span, and the others never end theirs, which then is not exported.
   */
  beginTurn ({ session, number, began, definition, revision, operation, name, about, above }: Turn): Span {
    const [traceId, spanId] = [hashOf('trace', session, number).slice(0, 32), hashOf('turn', session, number).slice(0, 16)]
    const attributes = {
      'gen_ai.operation.name': operation,
      ...about,
      'gen_ai.agent.version': operation === 'invoke_agent' ? revision : undefined,
      'prompt_shell.session.definition': definition,
      'prompt_shell.session.revision': revision,
      // Phoenix and Langfuse know the operation of an agent, but not yet that of a workflow.
      'openinference.span.kind': operation === 'invoke_workflow' ? 'CHAIN' : undefined
    }
    const parent = above && this.beginTurn(above.turn).contextOf(effectSpanId(above.turn.session, above.effect))
    return new Span(this.#tracer, parent ?? ROOT_CONTEXT, `${operation} ${name}`, {
      kind: SpanKind.INTERNAL,
      attributes,
      startTime: new Date(began)
    }, { traceId, spanId })
  }

  /** Sends the spans that were not sent yet, within a bounded time. */
  async close (): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<void>(resolve => { timer = setTimeout(resolve, CLOSE_PATIENCE) })
    await Promise.race([this.#provider.shutdown().catch(() => {}), patience])
    clearTimeout(timer)
  }
}

/** Makes its child spans itself: the SDK would follow asynchronous calls to find a parent, which costs every request time. */
export class Span {
  readonly #maker: SpanMaker
  readonly #span: OpenTelemetrySpan
  #context: Context | undefined

  constructor (maker: SpanMaker, parent: Context, name: string, { kind, attributes = {}, links, startTime }: SpanOptions, ids?: FixedIds) {
    this.#maker = maker
    maker.ids.fixed = ids
    this.#span = maker.tracer.startSpan(name, { kind, links, startTime }, parent)
    maker.ids.fixed = undefined
    // The SDK checks those that it is given at the start three times, for samplers that look at them; ours do not.
    this.#span.setAttributes(attributes)
  }

  get traceId (): string {
    return this.#span.spanContext().traceId
  }

  /** The W3C trace context to send with calls that belong to this span: https://www.w3.org/TR/trace-context/ */
  get traceparent (): string {
    const { traceId, spanId, traceFlags } = this.#span.spanContext()
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  }

  /** For children. */
  get #own (): Context {
    return (this.#context ??= trace.setSpan(ROOT_CONTEXT, this.#span))
  }

  /** Writes what was said as attributes; `undefined` unless the operator wants that. */
  get content (): Content | undefined {
    return this.#maker.content
  }

  child (name: string, kind: 'internal' | 'client', attributes: Attributes): Span {
    return new Span(this.#maker, this.#own, name, { kind: KINDS[kind], attributes })
  }

  /** For an effect that starts a session, whose spans find this one by its id. */
  effect (name: string, attributes: Attributes, session: string, effect: string): Span {
    return new Span(this.#maker, this.#own, name, { attributes }, { spanId: effectSpanId(session, effect) })
  }

  /** For a message that came within this request. If its sender has sent a trace context, it goes on there, and links to the request. */
  message (name: string, attributes: Attributes, parent: string | undefined): Span {
    const options = { kind: SpanKind.SERVER, attributes, links: parent === undefined ? [] : [{ context: this.#span.spanContext() }] }
    return new Span(this.#maker, parent === undefined ? this.#own : remote(parent), name, options)
  }

  /** That of another span of this trace, as sampled as this one. */
  contextOf (spanId: string): Context {
    return trace.setSpanContext(ROOT_CONTEXT, { ...this.#span.spanContext(), spanId, isRemote: true })
  }

  set (attributes: Attributes): void {
    this.#span.setAttributes(attributes)
  }

  event (name: string, attributes: Attributes): void {
    this.#span.addEvent(name, attributes)
  }

  end (attributes: Attributes, error?: string): void {
    this.#span.setAttributes(attributes)
    if (error !== undefined) {
      this.#span.setAttribute('error.type', error)
      this.#span.setStatus({ code: SpanStatusCode.ERROR, message: error })
    }
    this.#span.end()
  }
}

interface SpanMaker {
  readonly tracer: OpenTelemetryTracer
  readonly ids: Ids
  readonly content: Content | undefined
}

/** The trace id counts only for a span without a parent. */
interface FixedIds {
  readonly traceId?: string
  readonly spanId: string
}

class Ids implements IdGenerator {
  readonly #random = new RandomIdGenerator()
  /** Of the span that is being made. */
  fixed: FixedIds | undefined

  readonly generateTraceId = (): string => this.fixed?.traceId ?? this.#random.generateTraceId()
  readonly generateSpanId = (): string => this.fixed?.spanId ?? this.#random.generateSpanId()
}

function effectSpanId (session: string, effect: string): string {
  return hashOf('effect', session, effect).slice(0, 16)
}

function hashOf (...about: ReadonlyArray<string | number>): string {
  return createHash('sha256').update(JSON.stringify(about)).digest('hex')
}

function remote (traceparent: string): Context {
  const [, traceId = '', spanId = '', flags = '00'] = traceparent.split('-')
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true })
}

/** The SDK reports its problems to a logger that is global to the process. */
function logProblems (log: Log): void {
  const warn = (message: string): void => {
    // Other messages may have what was answered, or headers.
    const isFull = /^Dropped \d+ spans/.test(message)
    log.warn({}, isFull ? FULL : 'traces cannot be exported; see OTEL_EXPORTER_OTLP_ENDPOINT')
  }
  diag.setLogger({ error: warn, warn, info: () => {}, debug: () => {}, verbose: () => {} }, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
}

const FULL = 'spans were dropped, since they came faster than they were taken; see OTEL_BSP_MAX_QUEUE_SIZE'
