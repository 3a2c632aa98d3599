/** In USD for a million tokens, as providers publish them. */
export interface Price {
  readonly input: number
  /** @default 0, as of embeddings */
  readonly output?: number
  /** Of input tokens that the provider had in its cache. @default as `input` */
  readonly cached?: number
  /** Of output tokens that nobody reads. @default as `output` */
  readonly reasoning?: number
}

export interface PriceTable {
  /** When they were looked up: `2025-09-01`. */
  readonly date: string
  /** By name of the model. */
  readonly models: Readonly<Record<string, Price>>
}

/** As an API counts them. */
export interface TokenCounts {
  readonly inputTokens: number
  readonly outputTokens: number
  /** Among the input tokens. @default 0 */
  readonly cachedTokens?: number
  /** Among the output tokens. @default 0 */
  readonly reasoningTokens?: number
}

/** What providers published for their own APIs on this day; a wrong price is worse than none, so there are few. */
export const BUILT_IN: PriceTable = {
  date: '2025-09-01',
  models: {
    'gpt-5': { input: 1.25, cached: 0.125, output: 10 },
    'gpt-5-mini': { input: 0.25, cached: 0.025, output: 2 },
    'gpt-5-nano': { input: 0.05, cached: 0.005, output: 0.4 },
    'gpt-4.1': { input: 2, cached: 0.5, output: 8 },
    'gpt-4.1-mini': { input: 0.4, cached: 0.1, output: 1.6 },
    'gpt-4.1-nano': { input: 0.1, cached: 0.025, output: 0.4 },
    'gpt-4o': { input: 2.5, cached: 1.25, output: 10 },
    'gpt-4o-mini': { input: 0.15, cached: 0.075, output: 0.6 },
    o3: { input: 2, cached: 0.5, output: 8 },
    'o4-mini': { input: 1.1, cached: 0.275, output: 4.4 },
    'text-embedding-3-small': { input: 0.02 },
    'text-embedding-3-large': { input: 0.13 }
  }
}

/** `gpt-4.1-2025-04-14` is `gpt-4.1` of that day. */
const DATED = /-\d{4}-\d{2}-\d{2}$/

/** USD for a million tokens are 1,000 billionths of a USD for each. */
const NANOS = 1000

/** What models cost. Costs are whole billionths of a USD, so that sums over replicas stay exact. */
export class Prices {
  /** When they were looked up: `2025-09-01`. */
  readonly date: string
  readonly #models: ReadonlyMap<string, Price>

  constructor ({ date, models }: PriceTable = BUILT_IN) {
    this.date = date
    this.#models = new Map(Object.entries(models))
  }

  /** In billionths of a USD. `undefined`, never 0, for a model whose price is not known. */
  costOf (model: string, { inputTokens, outputTokens, cachedTokens = 0, reasoningTokens = 0 }: TokenCounts): number | undefined {
    const found = this.#models.get(model) ?? this.#models.get(model.replace(DATED, ''))
    if (found === undefined) return undefined
    const { input, output = 0, cached = input, reasoning = output } = found
    // A provider may count cached or reasoning tokens that are not among the others.
    const [fresh, written] = [Math.max(0, inputTokens - cachedTokens), Math.max(0, outputTokens - reasoningTokens)]
    return Math.round((fresh * input + cachedTokens * cached + written * output + reasoningTokens * reasoning) * NANOS)
  }
}
