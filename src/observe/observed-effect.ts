import { type EffectActivity } from '../service/sessions/perform/performer.ts'
import { type Metrics } from './metrics.ts'
import { ObservedWork } from './observed-work.ts'
import { type Span } from './span.ts'

/**
 * Observes one effect of a session (an action, such as a call of a model or a tool): its duration becomes a metric and, when traces are
 * exported, a span.
 */
export class ObservedEffect extends ObservedWork implements EffectActivity {
  readonly #metrics: Metrics
  readonly #span: Span | undefined
  readonly #kind: string
  readonly #started = performance.now()

  /** @param kind the kind of the effect, such as `tool` @param span the span of the effect; `undefined` when traces are not exported */
  constructor (metrics: Metrics, kind: string, span: Span | undefined) {
    super(metrics, undefined, span)
    this.#metrics = metrics
    this.#kind = kind
    this.#span = span
  }

  end (outcome: string): void {
    this.#metrics.sessionEffects.at(this.#kind, outcome).observe((performance.now() - this.#started) / 1000)
    this.#span?.end({}, outcome === 'ok' ? undefined : outcome)
  }
}
