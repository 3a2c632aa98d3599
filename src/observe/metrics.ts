import {
  AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, type Metric, type MetricObjectWithValues, type MetricValue, type MetricValueWithName, Registry
} from 'prom-client'
import { ENGINE_VERSION } from '../base/version.ts'

let registry: Registry | undefined

/**
 * The metrics of the process: CPU, memory, delay of the event loop, garbage collection. They are made once for the process, however many
 * apps a test makes, because the collectors of prom-client cannot be ended. They keep prom-client's names, by which dashboards for Node
 * find them.
 */
export function processMetrics (): Registry {
  if (registry === undefined) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry })
  }
  return registry
}

/** The value of one of a metric's labels, such as `method` or `status`. Prometheus gets a number as text. */
type LabelValue = string | number

/**
 * Finds one object for every combination of label values, by walking from map to map. That is several times faster than prom-client, which joins all
 * labels into a text at every observation.
 */
class LabelTree<T> {
  readonly #create: (values: readonly LabelValue[]) => T
  readonly #root = new Map<LabelValue, unknown>()

  /** @param create makes the object for a combination of label values that was not asked for before */
  constructor (create: (values: readonly LabelValue[]) => T) {
    this.#create = create
  }

  /**
   * Gives the object of a combination of label values. The object is made when the combination comes for the first time.
   * @param values one value for each label, always in the same order
   */
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

interface HistogramOptions {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  /** The upper bounds of the buckets, ascending. The last one, infinity, is left out. */
  readonly buckets: readonly number[]
}

/**
 * A histogram for code that runs in every request. An observation takes some 50 ns, where prom-client's own histogram takes half a microsecond (row
 * `kept/histogram` of the benchmarks). The registry of prom-client can print this histogram, too, since it only calls the method `get` of a metric.
 */
export class Histogram {
  readonly type = 'histogram'
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
  readonly #series: Series[] = []
  readonly #tree: LabelTree<Series>

  constructor (registry: Registry, options: HistogramOptions) {
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

  /** Gives the series of one combination of label values, in the order of the labels. Code that observes often should store the series. */
  at (...values: readonly LabelValue[]): Series {
    return this.#tree.at(...(values.length === 0 ? [''] : values))
  }

  /** The values in the form that prom-client's registry prints. */
  async get () {
    const { name, help, type } = this
    return { name, help, type, aggregator: 'sum', values: this.#series.flatMap(series => series.read(name)) }
  }
}

/** The observations of one combination of label values. */
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

  /** The values in the form that Prometheus wants: every bucket also counts what lies in the buckets below. */
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

/** The label value under which a metric counts all names for which it has no room. */
export const OTHERS = '(others)'

/**
 * The names that become values of a metric's label, up to a limit; all other names become `(others)`. Each combination of label values
 * stays in memory and in Prometheus for ever, and callers can invent as many names of models as they like.
 */
export class BoundedNames {
  readonly #names = new Set<string>()
  #limit: number

  /** @param limit the greatest number of names, not counting the reserved ones */
  constructor (limit: number) {
    this.#limit = limit
  }

  /** Adds names that are known beforehand, such as those of the configuration. They do not count against the limit. */
  reserve (names: Iterable<string>): void {
    for (const name of names) {
      if (this.#names.has(name)) continue
      this.#names.add(name)
      this.#limit++
    }
  }

  /** The label value under which a name is counted: the name itself, which is added if there is room, otherwise `(others)`. */
  take (name: string): string {
    if (this.#names.has(name)) return name
    if (this.#names.size >= this.#limit) return OTHERS
    this.#names.add(name)
    return name
  }

  /** The label value under which a name is counted: the name itself if it was added before, otherwise `(others)`. */
  find (name: string): string {
    return this.#names.has(name) ? name : OTHERS
  }
}

/** The buckets for durations, in s: from a render without tools, 0.1 ms, to the longest chat, 600 s. */
const DURATIONS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

/** The buckets for the time that the service itself adds to a request, in s. */
const OVERHEADS = DURATIONS.filter(bound => bound <= 1)

/** The greatest numbers of prompts, tools and so on that metrics count by name. All further ones are counted together as `(others)`. */
const MAX_PROMPTS = 2000
const MAX_TOOLS = 500
const MAX_MODELS = 100
const MAX_VERSIONS = 500
const MAX_LABEL_NAMES = 100

/**
 * Every metric that is counted while the service works. (Metrics of the registered entries are read when Prometheus asks.) Names and units follow
 * https://prometheus.io/docs/practices/naming/. No label has a value that callers can invent without bound.
 */
export class Metrics {
  readonly registry = new Registry()
  readonly prompts = new BoundedNames(MAX_PROMPTS)
  /** The versions that metrics show as values of their label `version`: numbers alone (`7`), and numbers with their prompt (`review.short@7`). */
  readonly versions = new BoundedNames(MAX_VERSIONS)
  readonly promptVersions = new BoundedNames(MAX_VERSIONS)
  readonly labels = new BoundedNames(MAX_LABEL_NAMES)
  readonly tools = new BoundedNames(MAX_TOOLS)
  /**
   * The names of models that metrics show as values of their label `model`. Only `MAX_MODELS` names that callers use are counted separately; each
   * name in the configuration is counted separately in any case.
   */
  readonly models = new BoundedNames(MAX_MODELS)

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

  /** The number of renders, by prompt, version and outcome. */
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

  /** The number of model tokens, by provider, model, version of the prompt, and direction (input or output). */
  readonly tokens = countersOf(new Counter({
    name: 'prompt_shell_model_tokens_total',
    help: 'Tokens (input, output) by version, such as review.short@7; estimated where the provider tells none',
    labelNames: ['provider', 'model', 'version', 'direction'],
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

  readonly writeToServed = new Histogram(this.registry, {
    name: 'prompt_shell_registry_write_to_served_seconds',
    help: 'Time from the store\'s word of a change until it is served',
    labels: [],
    buckets: DURATIONS
  })

  requestsInFlight = 0

  constructor () {
    const help = 'Always 1; the label tells the version'
    const build = new Gauge({ name: 'prompt_shell_build_info', aggregator: 'first', help, labelNames: ['version'], registers: [this.registry] })
    build.set({ version: ENGINE_VERSION }, 1)
  }

  /** Records how long a change of the store took until requests used it. @param milliseconds the time since the store reported the change */
  readonly served = (milliseconds: number): void => {
    this.writeToServed.at().observe(milliseconds / 1000)
  }

  /** Describes every metric but those of the process, for the documentation. */
  describe (): MetricDescription[] {
    const metrics = this.registry.getMetricsAsArray() as unknown as ReadonlyArray<Histogram | Gauge & { name: string, help: string, labelNames: string[] }>
    return metrics.map(metric => ({ name: metric.name, help: metric.help, labels: metric.labelNames, type: typeOf(metric) }))
  }

  /**
   * Counts how often the label of a prompt (a name such as `production` for one of its versions) is moved, and how often a request names a
   * label that the prompt does not have.
   */
  readonly onLabel = {
    moved: (label: string): void => { this.labelMoves.inc({ label: this.labels.take(label) }) },
    missed: (label: string): void => { this.labelFallbacks.inc({ label: this.labels.take(label) }) }
  }

  /** Gives all metrics of this process as plain data, for the other processes of this service. */
  async collect (): Promise<CollectedMetrics> {
    return (await Promise.all([this.registry, processMetrics()].map(registry => registry.getMetricsAsJSON()))).flat()
  }

  /**
   * All metrics in the text format of Prometheus.
   * @param askOthers exchanges metrics with the other processes of this service: it is given those of this process, and gives those of the
   * others. Each metric itself says whether the values of all processes are summed.
   */
  async read (askOthers?: (own: CollectedMetrics) => Promise<readonly CollectedMetrics[]>): Promise<string> {
    if (askOthers === undefined) return (await Promise.all([this.registry.metrics(), processMetrics().metrics()])).join('\n')
    const own = await this.collect()
    return AggregatorRegistry.aggregate([own, ...await askOthers(own)] as object[]).metrics()
  }
}

/** All metrics of one process as plain data. */
export type CollectedMetrics = ReadonlyArray<MetricObjectWithValues<MetricValue<string>>>

/** The description of a metric, without its values. */
export interface MetricDescription {
  readonly name: string
  readonly type: 'histogram' | 'counter' | 'gauge'
  readonly labels: readonly string[]
  readonly help: string
}

/** Gives the counters of a metric, one for each combination of label values. Each is made when it is first asked for. */
function countersOf (counter: Counter): LabelTree<{ inc: (count?: number) => void }> {
  return new LabelTree(values => counter.labels(...values.map(String)))
}

function typeOf (metric: object): MetricDescription['type'] {
  if (metric instanceof Histogram) return 'histogram'
  return metric instanceof Counter ? 'counter' : 'gauge'
}
