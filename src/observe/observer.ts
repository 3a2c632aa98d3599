import { type FastifyRequest } from 'fastify'
import { type RequestObserver } from '../http/request-observer.ts'
import { type Metrics } from './metrics.ts'
import { ObservedRequest } from './observed-request.ts'
import { parseTraceparent, type Tracer } from './span.ts'

/**
 * Watches requests.
 * @param tracer `undefined` when traces go nowhere: then there are no spans, and a caller's trace context is passed on
 */
export function createObserver (metrics: Metrics, tracer: Tracer | undefined): RequestObserver {
  return {
    begin (request: FastifyRequest) {
      const caller = parseTraceparent(request.headers.traceparent as string | undefined)
      return new ObservedRequest(metrics, caller, tracer && beginSpan(tracer, request, caller))
    },
    refused: () => { metrics.refused.inc() }
  }
}

function beginSpan (tracer: Tracer, { method, routeOptions: { url } }: FastifyRequest, caller: ReturnType<typeof parseTraceparent>) {
  return tracer.begin(url === undefined ? method : `${method} ${url}`, { 'http.request.method': method, ...(url === undefined ? {} : { 'http.route': url }) }, caller)
}
