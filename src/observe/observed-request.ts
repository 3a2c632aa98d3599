import { type RequestActivity } from '../http/base/request-observer.ts'
import { type Metrics } from './metrics.ts'
import { ObservedWork } from './observed-work.ts'
import { type Span, type TraceContext } from './span.ts'

/** The value of the metrics' label `route` for a request whose path leads to no route. */
const NO_ROUTE = '(none)'

/** Observes one HTTP request: adds its durations to the metrics and, when traces are exported, ends its span. */
export class ObservedRequest extends ObservedWork implements RequestActivity {
  isOver = false
  readonly #metrics: Metrics
  readonly #request: Span | undefined

  /** @param span the span of the request; `undefined` when traces are not exported */
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
