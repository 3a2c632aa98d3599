import {
  AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, type Metric, type MetricObjectWithValues, type MetricValue, type MetricValueWithName, Registry
} from 'prom-client'
import { ENGINE_VERSION } from '../base/version.ts'
import { Prices } from './prices.ts'

let registry: Registry | undefined

/** Made once for the process, since prom-client's collectors cannot be ended; their names stay, by which dashboards for Node find them. */
export function processMetrics (): Registry {
  if (registry === undefined) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry })
  }
  return registry
}

type LabelValue = string | number

/** One object per combination of label values, found map by map: several times faster than prom-client, which joins labels into a text. */
class LabelTree<T> {
  readonly #create: (values: readonly LabelValue[]) => T
  readonly #root = new Map<LabelValue, unknown>()

  constructor (create: (values: readonly LabelValue[]) => T) {
    this.#create = create
  }

  at (...values: readonly LabelValue[]): T {
    let node = this.#root
    const last = values.length - 1
    for (let index = 0; index < last; index++) {
      const value = values[index] as LabelValue
      let next = node.get(value) as typeof node | undefined
      if (next === undefined) node.set(value, next = new Map())
      node = next
    }
    const value = values[last] as LabelValue
    let thing = node.get(value) as T | undefined
    if (thing === undefined) node.set(value, thing = this.#create(values))
    return thing
  }
}

/** Each request is observed, and an observation takes 50 ns, a tenth of prom-client's. Its registry prints this one, too, since it only calls `get`. */
export class Histogram {
  readonly type = 'histogram'
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
  readonly #series: Series[] = []
  readonly #tree: LabelTree<Series>

  constructor (registry: Registry, options: {
    readonly name: string
    readonly help: string
    readonly labels: readonly string[]
    readonly buckets: readonly number[]
  }) {
    this.name = options.name
    this.help = options.help
    this.labelNames = options.labels
    this.#tree = new LabelTree(values => {
      const series = new Series(options.buckets, Object.fromEntries(options.labels.map((name, index) => [name, values[index] as LabelValue])))
      this.#series.push(series)
      return series
    })
    if (options.labels.length === 0) this.#tree.at('')
    registry.registerMetric(this as unknown as Metric)
  }

  at (...values: readonly LabelValue[]): Series {
    return this.#tree.at(...(values.length === 0 ? [''] : values))
  }

  async get () {
    const { name, help, type } = this
    return { name, help, type, aggregator: 'sum', values: this.#series.flatMap(series => series.read(name)) }
  }
}

class Series {
  readonly #bounds: readonly number[]
  readonly #labels: Readonly<Record<string, LabelValue>>
  readonly #counts: Float64Array
  #sum = 0

  constructor (bounds: readonly number[], labels: Readonly<Record<string, LabelValue>>) {
    this.#bounds = bounds
    this.#labels = labels
    this.#counts = new Float64Array(bounds.length + 1)
  }

  observe (value: number): void {
    const bounds = this.#bounds
    let index = 0
    while (index < bounds.length && value > (bounds[index] as number)) index++
    this.#counts[index] = (this.#counts[index] as number) + 1
    this.#sum += value
  }

  /** Prometheus wants cumulative buckets: each also counts what lies in those below. */
  read (name: string): MetricValueWithName<string>[] {
    let count = 0
    const buckets = Array.from(this.#counts, (observations, index) => {
      count += observations
      return { metricName: `${name}_bucket`, labels: { ...this.#labels, le: this.#bounds[index] ?? '+Inf' }, value: count }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: this.#labels, value: this.#sum },
      { metricName: `${name}_count`, labels: this.#labels, value: count }
    ]
  }
}

export const OTHERS = '(others)'

/** Bounds a label's values: each stays in memory and in Prometheus for ever, and callers can invent names. All further ones are `(others)`. */
export class BoundedNames {
  readonly #names = new Set<string>()
  #limit: number

  constructor (limit: number) {
    this.#limit = limit
  }

  reserve (names: Iterable<string>): void {
    for (const name of names) {
      if (this.#names.has(name)) continue
      this.#names.add(name)
      this.#limit++
    }
  }

  take (name: string): string {
    if (this.#names.has(name)) return name
    if (this.#names.size >= this.#limit) return OTHERS
    this.#names.add(name)
    return name
  }

  find (name: string): string {
    return this.#names.has(name) ? name : OTHERS
  }
}

/** The buckets for durations, in s: from a render without tools, 0.1 ms, to the longest chat, 600 s. */
const DURATIONS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

/** Those of calls of models, in s. */
export const LONG_DURATIONS: readonly number[] = DURATIONS.filter(bound => bound >= 0.25)

/** In s. */
const OVERHEADS = DURATIONS.filter(bound => bound <= 1)

const MAX_PROMPTS = 2000
const MAX_TOOLS = 500
const MAX_MODELS = 100
const MAX_VERSIONS = 500
const MAX_LABEL_NAMES = 100
const MAX_KINDS = 20

/** The metrics counted at work, named by https://prometheus.io/docs/practices/naming/. Callers can never invent label values without bound. */
export class Metrics {
  readonly registry = new Registry()
  readonly prompts = new BoundedNames(MAX_PROMPTS)
  readonly versions = new BoundedNames(MAX_VERSIONS)
  readonly promptVersions = new BoundedNames(MAX_VERSIONS)
  readonly labels = new BoundedNames(MAX_LABEL_NAMES)
  readonly kinds = new BoundedNames(MAX_KINDS)
  readonly tools = new BoundedNames(MAX_TOOLS)
  readonly models = new BoundedNames(MAX_MODELS)
  readonly prices: Prices

  readonly requests = new Histogram(this.registry, {
    name: 'prompt_shell_http_request_duration_seconds',
    help: 'Time from a request to the last byte of its answer; 499 when the client left',
    labels: ['method', 'route', 'status'],
    buckets: DURATIONS
  })

  readonly overhead = new Histogram(this.registry, {
    name: 'prompt_shell_overhead_seconds',
    help: 'Time of requests that rendered, called a tool or asked a model, without waits for tools and models',
    labels: ['route'],
    buckets: OVERHEADS
  })

  readonly inFlight = new Gauge({
    name: 'prompt_shell_http_requests_in_flight',
    help: 'Requests not answered in full yet',
    registers: [this.registry],
    collect: () => { this.inFlight.set(this.requestsInFlight) }
  })

  readonly refused = new Counter({
    name: 'prompt_shell_http_requests_refused_total',
    help: 'Requests refused with 503 OVERLOADED; no other metric counts them',
    registers: [this.registry]
  })

  readonly renders = countersOf(new Counter({
    name: 'prompt_shell_renders_total',
    help: 'Renders; the version is empty for unrecorded content, the outcome ok or the error code, an unregistered prompt (unknown)',
    labelNames: ['prompt', 'version', 'outcome'],
    registers: [this.registry]
  }))

  readonly renderDurations = new Histogram(this.registry, {
    name: 'prompt_shell_render_duration_seconds',
    help: 'Time of a render, with its tools',
    labels: ['outcome'],
    buckets: DURATIONS
  })

  readonly passes = new Histogram(this.registry, {
    name: 'prompt_shell_render_passes',
    help: 'Passes of a successful render: 1 without tools and with all shared variables in memory',
    labels: [],
    buckets: [1, 2, 3, 4, 5, 7, 10, 20, 50, 101]
  })

  readonly toolCalls = new Histogram(this.registry, {
    name: 'prompt_shell_tool_call_duration_seconds',
    help: 'Time of a call of a tool, with retries; the outcome is ok, cached or failed',
    labels: ['tool', 'outcome'],
    buckets: DURATIONS
  })

  readonly toolFailures = new Counter({
    name: 'prompt_shell_tool_failures_total',
    help: 'Failed calls of tools: TIMEOUT, UNREACHABLE, BREAKER_OPEN, ...',
    labelNames: ['tool', 'code'],
    registers: [this.registry]
  })

  readonly modelCalls = new Histogram(this.registry, {
    name: 'prompt_shell_model_call_duration_seconds',
    help: 'Time of a call of a provider to the last byte, with waits and retries; the outcome is ok, LLM_UPSTREAM, LLM_RATE_LIMITED, LLM_AUTH, LLM_BUSY, REFUSED (a 4xx that is the caller\'s), CUT (a stream that failed after its first event) or CLIENT_CLOSED',
    labels: ['provider', 'model', 'operation', 'outcome'],
    buckets: DURATIONS
  })

  readonly firstEvents = new Histogram(this.registry, {
    name: 'prompt_shell_model_first_event_seconds',
    help: 'Time to the first event of a provider\'s stream',
    labels: ['provider', 'model'],
    buckets: DURATIONS
  })

  readonly modelRetries = new Counter({
    name: 'prompt_shell_model_retries_total',
    help: 'Attempts beyond the first of a call',
    labelNames: ['provider', 'model'],
    registers: [this.registry]
  })

  readonly tokens = countersOf(new Counter({
    name: 'prompt_shell_model_tokens_total',
    help: 'Tokens (input, output) by version, such as review.short@7; estimated where the provider tells none',
    labelNames: ['provider', 'model', 'version', 'direction'],
    registers: [this.registry]
  }))

  readonly costs = countersOf(new Counter({
    name: 'prompt_shell_model_cost_usd_total',
    help: 'What tokens cost in USD, by version, of models whose price is known; estimated where the provider tells no tokens',
    labelNames: ['provider', 'model', 'version'],
    registers: [this.registry]
  }))

  readonly unpriced = countersOf(new Counter({
    name: 'prompt_shell_model_unpriced_calls_total',
    help: 'Calls of models whose price is not known',
    labelNames: ['provider', 'model'],
    registers: [this.registry]
  }))

  readonly labelMoves = new Counter({
    name: 'prompt_shell_label_moves_total',
    help: 'Moves and removals of labels over HTTP',
    labelNames: ['label'],
    registers: [this.registry]
  })

  readonly labelFallbacks = new Counter({
    name: 'prompt_shell_label_fallbacks_total',
    help: 'Requests served the latest content, since their prompt lacks the default label',
    labelNames: ['label'],
    registers: [this.registry]
  })

  readonly sessionEffects = new Histogram(this.registry, {
    name: 'prompt_shell_session_effect_duration_seconds',
    help: 'Time of what sessions have begun (llm, tool); the outcome is ok or the error code',
    labels: ['kind', 'outcome'],
    buckets: DURATIONS
  })

  readonly sessionToolsHeld = new Counter({
    name: 'prompt_shell_session_tool_held_total',
    help: 'Calls by sessions that waited for an approval',
    labelNames: ['tool'],
    registers: [this.registry]
  })

  readonly sessionToolsRefused = new Counter({
    name: 'prompt_shell_session_tool_refused_total',
    help: 'Calls by sessions that a person, policy or budget refused',
    labelNames: ['tool', 'by'],
    registers: [this.registry]
  })

  readonly sessionsEnded = new Counter({
    name: 'prompt_shell_sessions_ended_total',
    help: 'Ended sessions: completed, failed, cancelled or expired',
    labelNames: ['engine', 'status'],
    registers: [this.registry]
  })

  readonly sessionsTakenOver = new Counter({
    name: 'prompt_shell_sessions_taken_over_total',
    help: 'Sessions that went on here after another process had left them',
    labelNames: ['kind'],
    registers: [this.registry]
  })

  readonly notices = new Counter({
    name: 'prompt_shell_notices_total',
    help: 'Attempts to tell a receiver (sent, failed), notices given up for a day of them (dead), and such as found no room (dropped)',
    labelNames: ['receiver', 'outcome'],
    registers: [this.registry]
  })

  readonly writeToServed = new Histogram(this.registry, {
    name: 'prompt_shell_registry_write_to_served_seconds',
    help: 'Time from the store\'s word of a change until it is served',
    labels: [],
    buckets: DURATIONS
  })

  requestsInFlight = 0

  constructor (prices = new Prices()) {
    this.prices = prices
    const help = 'Always 1; the label tells the version'
    const build = new Gauge({ name: 'prompt_shell_build_info', aggregator: 'first', help, labelNames: ['version'], registers: [this.registry] })
    build.set({ version: ENGINE_VERSION }, 1)
  }

  readonly served = (milliseconds: number): void => {
    this.writeToServed.at().observe(milliseconds / 1000)
  }

  describe (): MetricDescription[] {
    const metrics = this.registry.getMetricsAsArray() as unknown as ReadonlyArray<Histogram | Gauge & { name: string, help: string, labelNames: string[] }>
    return metrics.map(metric => ({ name: metric.name, help: metric.help, labels: metric.labelNames, type: typeOf(metric) }))
  }

  readonly onLabel = {
    moved: (label: string): void => { this.labelMoves.inc({ label: this.labels.take(label) }) },
    missed: (label: string): void => { this.labelFallbacks.inc({ label: this.labels.take(label) }) }
  }

  async collect (): Promise<CollectedMetrics> {
    return (await Promise.all([this.registry, processMetrics()].map(registry => registry.getMetricsAsJSON()))).flat()
  }

  /** All metrics in Prometheus' text format. `askOthers` exchanges metrics with the service's other processes; each metric says whether it is summed. */
  async read (askOthers?: (own: CollectedMetrics) => Promise<readonly CollectedMetrics[]>): Promise<string> {
    if (askOthers === undefined) return (await Promise.all([this.registry.metrics(), processMetrics().metrics()])).join('\n')
    const own = await this.collect()
    return AggregatorRegistry.aggregate([own, ...await askOthers(own)] as object[]).metrics()
  }
}

export type CollectedMetrics = ReadonlyArray<MetricObjectWithValues<MetricValue<string>>>

export interface MetricDescription {
  readonly name: string
  readonly type: 'histogram' | 'counter' | 'gauge'
  readonly labels: readonly string[]
  readonly help: string
}

function countersOf (counter: Counter): LabelTree<{ inc: (count?: number) => void }> {
  return new LabelTree(values => counter.labels(...values.map(String)))
}

function typeOf (metric: object): MetricDescription['type'] {
  if (metric instanceof Histogram) return 'histogram'
  return metric instanceof Counter ? 'counter' : 'gauge'
}
