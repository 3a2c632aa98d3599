import { randomUUID } from 'node:crypto'
import { budgetUsed, priceUnknown } from '../base/errors.ts'
import { type Caller, NamePatterns } from '../access/caller.ts'
import type { Budget } from '../config/operator.ts'
import type { Prices, TokenCounts } from '../observe/prices.ts'
import { MemoryUsage, type UsageStore } from '../store/usage-store.ts'
import type { UsedBy } from './usage.ts'

/** What a call may write where it says no bound of its own: most answers are shorter. */
const USUAL_OUTPUT = 1000

/** In ms: the end of a period, and a call that is under way then. */
const LIFETIME = { day: 2 * 86_400_000, month: 33 * 86_400_000 }

/** In percent of a budget; and how many are remembered as told. */
const [LEVELS, MOST_TOLD] = [[80, 100], 1000]

/** @param key of the budget and its period @param ends in ms since 1970 */
type OnLevel = (budget: Budget, key: string, percent: number, used: number, ends: number) => Promise<void>

interface Held { readonly budget: Budget, readonly key: string, readonly amount: number }

/** What a call holds until its usage is known. */
export interface Reservation {
  settle (usage: TokenCounts | undefined, cost: number | undefined): void
}

/**
 * Before a call, its estimate is held in each budget that it falls under; afterwards, what it used takes its place. A call is refused once a
 * budget is used up by what was used and held, so that many at once pass the bound by one call at most. Replicas share the budgets
 * over Redis, and workers over their primary process; while the store is away, each process has its own count of them.
 */
export class Budgets {
  readonly #budgets: ReadonlyArray<Budget & { readonly allowed: NamePatterns | undefined }>
  readonly #prices: Prices
  readonly #store: UsageStore
  /** While the store is away. */
  readonly #own = new MemoryUsage()
  readonly #now: () => number
  /** Which levels were told, by the budget's period. */
  readonly #told = new Set<string>()
  #onLevel: OnLevel | undefined

  constructor (budgets: readonly Budget[], prices: Prices, store: UsageStore = new MemoryUsage(), now = Date.now) {
    this.#budgets = budgets.map(budget => ({ ...budget, allowed: budget.prompts && new NamePatterns(budget.prompts) }))
    this.#prices = prices
    this.#store = store
    this.#now = now
  }

  /** Told once when what is used and held reaches a level; where `tell` rejects, with the next call. */
  onLevel (tell: OnLevel): void {
    this.#onLevel = tell
  }

  get isEmpty (): boolean {
    return this.#budgets.length === 0
  }

  /** `undefined` where no budget applies. @throws BUDGET_USED, PRICE_UNKNOWN */
  async reserve ({ caller, prompt }: UsedBy, model: string, inputTokens: number, maxOutput: number | undefined): Promise<Reservation | undefined> {
    const id = prompt.replaceAll('/', '.')
    const budgets = this.#budgets.filter(({ tokens, allowed }) => (tokens?.includes(caller.name) ?? true) && (allowed?.allows(id) ?? true))
    if (budgets.length === 0) return undefined
    const [call, now] = [randomUUID(), this.#now()]
    const estimate = { inputTokens, outputTokens: maxOutput ?? USUAL_OUTPUT }
    const held: Held[] = []
    try {
      for (const budget of budgets) {
        const amount = amountOf(budget, estimate, this.#prices.costOf(model, estimate))
        if (amount === undefined) throw priceUnknown(model, budget.name)
        const key = keyOf(budget, now)
        held.push({ budget, key, amount })
        const { isFree, used } = await this.#reserve(key, call, amount, budget)
        this.#tell(budget, key, used, now)
        if (isFree) continue
        const ends = endOf(budget.period, now)
        throw budgetUsed(budget.name, describe(budget), budget.unit === 'usd' ? used / 1e9 : used, ends, Math.ceil((ends - now) / 1000))
      }
    } catch (error) {
      for (const { budget, key } of held) void this.#settle(budget, key, call, 0, now)
      throw error
    }
    return {
      settle: (usage, cost) => {
        // An API may answer with a model whose price is not known: then the estimate counts.
        for (const { budget, key, amount } of held) void this.#settle(budget, key, call, usage === undefined ? 0 : amountOf(budget, usage, cost) ?? amount, now)
      }
    }
  }

  /** Budgets that bind the caller, or all of them. @throws Error while the store is away */
  async list (caller?: Caller): Promise<ReadonlyArray<Budget & { readonly used: number, readonly ends: number }>> {
    const now = this.#now()
    const binding = this.#budgets.filter(({ tokens }) => caller === undefined || (tokens?.includes(caller.name) ?? true))
    return await Promise.all(binding.map(async budget => ({ ...budget, used: await this.#store.used(keyOf(budget, now)), ends: endOf(budget.period, now) })))
  }

  async #reserve (key: string, call: string, amount: number, { most, period }: Budget) {
    const own = this.#own.reserve(key, call, amount, most)
    return await this.#store.reserve(key, call, amount, most, LIFETIME[period]).catch(() => own)
  }

  async #settle (budget: Budget, key: string, call: string, amount: number, now: number): Promise<void> {
    void this.#own.settle(key, call, amount)
    // What cannot be settled stays held: the budget is told too low, not too high.
    await this.#store.settle(key, call, amount).catch(() => {})
    if (this.#onLevel !== undefined) this.#tell(budget, key, await this.#store.used(key).catch(() => this.#own.used(key)), now)
  }

  #tell (budget: Budget, key: string, used: number, now: number): void {
    for (const percent of this.#onLevel === undefined ? [] : LEVELS) {
      const level = `${key} ${percent}`
      if (used < budget.most * percent / 100 || this.#told.has(level)) continue
      if (this.#told.size >= MOST_TOLD) this.#told.clear()
      this.#told.add(level)
      this.#onLevel?.(budget, key, percent, used, endOf(budget.period, now)).catch(() => { this.#told.delete(level) })
    }
  }
}

function amountOf ({ unit }: Budget, { inputTokens, outputTokens }: TokenCounts, cost: number | undefined): number | undefined {
  return unit === 'tokens' ? inputTokens + outputTokens : cost
}

function describe ({ unit, most, period }: Budget): string {
  return `${unit === 'usd' ? `${most / 1e9} USD` : `${most} tokens`} a ${period}`
}

function keyOf ({ name, unit, period }: Budget, now: number): string {
  return `${name}:${unit}:${period}:${new Date(now).toISOString().slice(0, period === 'day' ? 10 : 7)}`
}

/** In ms since 1970. */
function endOf (period: Budget['period'], now: number): number {
  const date = new Date(now)
  return period === 'day'
    ? Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + 1)
    : Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
}
