import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type TestContext } from 'node:test'
import { gunzipSync } from 'node:zlib'
import protobuf from 'protobufjs'

/** A span as the collector received it. */
export interface CollectedSpan {
  readonly name: string
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events: ReadonlyArray<{ readonly name: string, readonly attributes: Readonly<Record<string, unknown>> }>
  /** 2: error. */
  readonly status: { readonly code?: number }
  /** Of the service. */
  readonly resource: Readonly<Record<string, unknown>>
}

/** A real HTTP server that takes traces as OTLP in protobuf or JSON (https://opentelemetry.io/docs/specs/otlp/#otlphttp). */
export interface OtlpCollector {
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  /** Bodies as they came, those in protobuf as JSON. */
  readonly bodies: readonly string[]
  /** Headers of the exports. */
  readonly headers: readonly IncomingHttpHeaders[]
}

interface KeyValue { readonly key: string, readonly value: Readonly<Record<string, unknown>> }
interface WireSpan extends Omit<CollectedSpan, 'attributes' | 'events' | 'resource'> { readonly attributes?: readonly KeyValue[], readonly events?: ReadonlyArray<{ name: string, attributes?: readonly KeyValue[] }> }
interface Export { readonly resourceSpans: ReadonlyArray<{ resource: { attributes: readonly KeyValue[] }, scopeSpans: ReadonlyArray<{ spans: readonly WireSpan[] }> }> }

/** Starts a collector on a free port; it ends with the test. */
export async function startOtlpCollector (test: Pick<TestContext, 'after'>): Promise<OtlpCollector> {
  const spans: CollectedSpan[] = []
  const bodies: string[] = []
  const headers: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    buffer(request).then(sent => {
      const type = request.headers['content-type'] ?? ''
      const body = textOf(request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent, type)
      bodies.push(body)
      headers.push(request.headers)
      if (request.url === '/v1/traces') spans.push(...readSpans(JSON.parse(body) as Export))
      // An answer without members is no bytes of protobuf.
      response.writeHead(200, { 'content-type': type }).end(type === PROTOBUF ? '' : '{}')
    }, () => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, bodies, headers }
}

const PROTOBUF = 'application/x-protobuf'

/** What is read here of https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/trace/v1/trace.proto */
const EXPORT = protobuf.parse(`syntax = "proto3";
  message Export { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
    repeated KeyValue attributes = 9; repeated Event events = 11; Status status = 15;
  }
  message Event { string name = 2; repeated KeyValue attributes = 3; }
  message Status { int32 code = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue {
    oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5; }
  }
  message ArrayValue { repeated AnyValue values = 1; }`).root.lookupType('Export')

/** Of protobuf what JSON would have. */
function textOf (body: Buffer, type: string): string {
  if (type !== PROTOBUF) return body.toString('utf8')
  const written = EXPORT.toObject(EXPORT.decode(body), { longs: Number, bytes: String })
  return JSON.stringify(written, (name, value: unknown) => typeof value === 'string' && name.endsWith('Id') ? Buffer.from(value, 'base64').toString('hex') : value)
}

function readSpans ({ resourceSpans }: Export): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => scopeSpans.flatMap(scope => scope.spans.map(span => ({
    ...span,
    status: span.status ?? {},
    attributes: readAttributes(span.attributes),
    events: (span.events ?? []).map(({ name, attributes }) => ({ name, attributes: readAttributes(attributes) })),
    resource: readAttributes(resource.attributes)
  }))))
}

function readAttributes (attributes: readonly KeyValue[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}
