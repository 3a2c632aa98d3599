import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext } from 'node:test'

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

/** A real HTTP server that takes traces as OTLP in JSON (https://opentelemetry.io/docs/specs/otlp/#otlphttp). */
export interface OtlpCollector {
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  /** Bodies as they came. */
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
    text(request).then(body => {
      bodies.push(body)
      headers.push(request.headers)
      if (request.url === '/v1/traces') spans.push(...readSpans(JSON.parse(body) as Export))
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
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

function readSpans ({ resourceSpans }: Export): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => scopeSpans.flatMap(scope => scope.spans.map(span => ({
    ...span,
    attributes: readAttributes(span.attributes),
    events: (span.events ?? []).map(({ name, attributes }) => ({ name, attributes: readAttributes(attributes) })),
    resource: readAttributes(resource.attributes)
  }))))
}

function readAttributes (attributes: readonly KeyValue[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}
