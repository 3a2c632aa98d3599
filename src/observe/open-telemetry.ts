import { type Log } from '../runtime/telemetry.ts'
import {
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
import { type Span, type SpanAttributes, type TraceContext, type Tracer } from './span.ts'

/** In ms. */
const CLOSE_PATIENCE = 3000

const KINDS = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT } as const

/** Exports traces as OTLP over HTTP, in JSON. OpenTelemetry's SDK reads its standard environment variables itself. */
export function createTracer (log: Log): Tracer {
  logProblems(log)
  const resource = resourceFromAttributes({ 'service.name': ENGINE_NAME, 'service.version': ENGINE_VERSION }).merge(
    detectResources({ detectors: [envDetector] })
  )
  const provider = new BasicTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] })
  const tracer = provider.getTracer(ENGINE_NAME, ENGINE_VERSION)
  return {
    begin: (name, attributes, parent) => startSpan(tracer, parent === undefined ? ROOT_CONTEXT : remote(parent), name, SpanKind.SERVER, attributes),
    async close () {
      let timer: NodeJS.Timeout | undefined
      const patience = new Promise<void>(resolve => { timer = setTimeout(resolve, CLOSE_PATIENCE) })
      await Promise.race([provider.shutdown().catch(() => {}), patience])
      clearTimeout(timer)
    }
  }
}

function startSpan (tracer: OpenTelemetryTracer, parent: Context, name: string, kind: SpanKind, attributes: SpanAttributes): Span {
  return new TracedSpan(tracer, tracer.startSpan(name, { kind, attributes }, parent))
}

/** Makes its child spans itself: the SDK would follow asynchronous calls to find a parent, which costs every request time. */
class TracedSpan implements Span {
  readonly traceId: string
  readonly traceparent: string
  readonly #tracer: OpenTelemetryTracer
  readonly #span: OpenTelemetrySpan

  constructor (tracer: OpenTelemetryTracer, span: OpenTelemetrySpan) {
    const { traceId, spanId, traceFlags } = span.spanContext()
    this.#tracer = tracer
    this.#span = span
    this.traceId = traceId
    this.traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  }

  child (name: string, kind: 'internal' | 'client', attributes: SpanAttributes): Span {
    return startSpan(this.#tracer, trace.setSpan(ROOT_CONTEXT, this.#span), name, KINDS[kind], attributes)
  }

  event (name: string, attributes: SpanAttributes): void {
    this.#span.addEvent(name, attributes)
  }

  end (attributes: SpanAttributes, error?: string): void {
    this.#span.setAttributes(attributes)
    if (error !== undefined) {
      this.#span.setAttribute('error.type', error)
      this.#span.setStatus({ code: SpanStatusCode.ERROR, message: error })
    }
    this.#span.end()
  }
}

function remote ({ traceparent }: TraceContext): Context {
  const [, traceId = '', spanId = '', flags = '00'] = traceparent.split('-')
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true })
}

/** The SDK reports its problems to a logger that is global to the process. */
function logProblems (log: Log): void {
  const warn = (): void => { log.warn({}, 'traces cannot be exported; see OTEL_EXPORTER_OTLP_ENDPOINT') }
  diag.setLogger({ error: warn, warn, info: () => {}, debug: () => {}, verbose: () => {} }, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
}
