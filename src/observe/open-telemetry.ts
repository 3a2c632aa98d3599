import { type Log } from '../runtime/telemetry.ts'
import {
  type Attributes,
  type Context,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  type Span as OpenTelemetrySpan,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer as OpenTelemetryTracer
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { ENGINE_NAME, ENGINE_VERSION } from '../base/version.ts'

/** In ms. */
const CLOSE_PATIENCE = 3000

const KINDS = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT } as const

/** Exports traces as OTLP over HTTP, in JSON. OpenTelemetry's SDK reads its standard environment variables itself. */
export class Tracer {
  readonly #provider: BasicTracerProvider
  readonly #tracer: OpenTelemetryTracer

  constructor (log: Log) {
    logProblems(log)
    const resource = resourceFromAttributes({ 'service.name': ENGINE_NAME, 'service.version': ENGINE_VERSION }).merge(
      detectResources({ detectors: [envDetector] })
    )
    this.#provider = new BasicTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] })
    this.#tracer = this.#provider.getTracer(ENGINE_NAME, ENGINE_VERSION)
  }

  begin (name: string, attributes: Attributes, parent: string | undefined): Span {
    return new Span(this.#tracer, parent === undefined ? ROOT_CONTEXT : remote(parent), name, SpanKind.SERVER, attributes)
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
  readonly traceId: string
  /** The W3C trace context to send with calls that belong to this span: https://www.w3.org/TR/trace-context/ */
  readonly traceparent: string
  readonly #tracer: OpenTelemetryTracer
  readonly #span: OpenTelemetrySpan

  constructor (tracer: OpenTelemetryTracer, parent: Context, name: string, kind: SpanKind, attributes: Attributes) {
    this.#tracer = tracer
    this.#span = tracer.startSpan(name, { kind, attributes }, parent)
    const { traceId, spanId, traceFlags } = this.#span.spanContext()
    this.traceId = traceId
    this.traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  }

  child (name: string, kind: 'internal' | 'client', attributes: Attributes): Span {
    return new Span(this.#tracer, trace.setSpan(ROOT_CONTEXT, this.#span), name, KINDS[kind], attributes)
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

function remote (traceparent: string): Context {
  const [, traceId = '', spanId = '', flags = '00'] = traceparent.split('-')
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true })
}

/** The SDK reports its problems to a logger that is global to the process. */
function logProblems (log: Log): void {
  const warn = (): void => { log.warn({}, 'traces cannot be exported; see OTEL_EXPORTER_OTLP_ENDPOINT') }
  diag.setLogger({ error: warn, warn, info: () => {}, debug: () => {}, verbose: () => {} }, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
}
