import { randomUUID } from 'node:crypto'
import type { Caller } from '../access/caller.ts'
import { beginningOf } from '../base/text.ts'
import type { TokenUsage } from '../observe/activity.ts'
import type { Prices } from '../observe/prices.ts'
import type { SharedUsage } from '../store/redis/redis-usage.ts'

// What models were asked, by whom, with which prompt, and what it cost: a row for each day and combination. With a shared store (Redis) all
// replicas count into the same rows, within a second; without one, the rows are those of this process since its start.

/** What a row is about. `''` stands for none: no token, no prompt, no label. */
export const USAGE_KEYS = ['day', 'token', 'prompt', 'version', 'label', 'model'] as const

/** `cost` is in billionths of a USD, of the calls whose price is known; the others are counted in `unpricedCalls`. */
export const USAGE_COUNTS = [
  'calls', 'estimatedCalls', 'unpricedCalls', 'inputTokens', 'outputTokens', 'cachedTokens', 'reasoningTokens', 'estimatedTokens', 'cost'
] as const

export type UsageKey = typeof USAGE_KEYS[number]
type UsageCount = typeof USAGE_COUNTS[number]
export type UsageRow = Readonly<Record<UsageKey, string> & Record<UsageCount, number>>

/** Callers may name any model; rows of a day beyond these are one, `(others)`. */
const MAX_ROWS = 5000
const OTHERS = '(others)'

/** In characters. */
const MAX_MODEL_NAME = 200

/** In ms. */
const SHARE_AFTER = 1000

/** Days for which rows are kept. */
export const KEPT_DAYS = 90

export interface UsedBy {
  readonly caller: Caller
  /** `''` when the caller wrote the messages without a prompt. */
  readonly prompt: string
  readonly activity?: { readonly promptVersion: number | undefined, readonly promptLabel: string | undefined } | undefined
}

export class UsageLedger {
  /** In ms since 1970. */
  readonly since: number
  readonly prices: Prices
  readonly #shared: SharedUsage | undefined
  readonly #now: () => number
  readonly #days = new Map<string, Map<string, number[]>>()
  #unreported = new Map<string, Map<string, number[]>>()
  #timer: NodeJS.Timeout | undefined
  #sharing: Promise<void> = Promise.resolve()
  #report: { readonly id: string, readonly days: Map<string, Map<string, number[]>> } | undefined

  /** @param now in ms since 1970 */
  constructor (prices: Prices, shared?: SharedUsage, now = Date.now) {
    this.prices = prices
    this.since = now()
    this.#shared = shared
    this.#now = now
  }

  get isShared (): boolean {
    return this.#shared !== undefined
  }

  /** @returns what it cost, in billionths of a USD; `undefined` when nobody knows */
  count ({ caller, prompt, activity }: UsedBy, given: string, usage: TokenUsage): number | undefined {
    const model = beginningOf(given, MAX_MODEL_NAME)
    const cost = this.prices.costOf(model, usage)
    const day = dayOf(this.#now())
    const { inputTokens, outputTokens, cachedTokens = 0, reasoningTokens = 0, isEstimate } = usage
    const row = [caller.name, prompt, String(activity?.promptVersion ?? ''), activity?.promptLabel ?? '', model]
    const estimatedTokens = isEstimate ? inputTokens + outputTokens : 0
    const numbers = [1, Number(isEstimate), Number(cost === undefined), inputTokens, outputTokens, cachedTokens, reasoningTokens, estimatedTokens, cost ?? 0]
    if (this.#shared === undefined) this.#add(this.#days, day, row, numbers)
    else {
      this.#add(this.#unreported, day, row, numbers)
      this.#timer ??= setTimeout(() => { this.#sharing = this.#share(this.#shared as SharedUsage) }, SHARE_AFTER).unref()
    }
    return cost
  }

  /** Sums of the rows from one day to another, both included, over what `by` does not name. @throws Error while the shared store is away */
  async read (from: string, to: string, by: readonly UsageKey[]): Promise<readonly UsageRow[]> {
    const days = daysBetween(from, to)
    const found = await Promise.all(days.map(async day => [day, await this.#shared?.read(day) ?? this.#days.get(day) ?? []] as const))
    const own = [this.#unreported, this.#report?.days].flatMap(unsent => [...unsent ?? []].filter(([day]) => days.includes(day)))
    const sums = new Map<string, { keys: Record<UsageKey, string>, numbers: number[] }>()
    for (const [day, rows] of [...found, ...own]) {
      for (const [text, numbers] of rows) {
        const [token = '', prompt = '', version = '', label = '', model = ''] = JSON.parse(text) as string[]
        const whole: Record<UsageKey, string> = { day, token, prompt, version, label, model }
        const keys = Object.fromEntries(USAGE_KEYS.map(key => [key, by.includes(key) ? whole[key] : ''])) as Record<UsageKey, string>
        const place = JSON.stringify(keys)
        const sum = sums.get(place) ?? { keys, numbers: USAGE_COUNTS.map(() => 0) }
        sums.set(place, sum)
        addTo(sum.numbers, numbers)
      }
    }
    const named = (numbers: readonly number[]) => Object.fromEntries(USAGE_COUNTS.map((name, index) => [name, numbers[index] ?? 0]))
    return Array.from(sums.values(), ({ keys, numbers }) => ({ ...keys, ...named(numbers) }) as UsageRow)
  }

  async close (): Promise<void> {
    clearTimeout(this.#timer)
    await this.#sharing
    if (this.#shared === undefined) return
    await this.#share(this.#shared)
    clearTimeout(this.#timer)
    await this.#shared.close()
  }

  #add (days: Map<string, Map<string, number[]>>, day: string, row: readonly string[], numbers: readonly number[]): void {
    let rows = days.get(day)
    if (rows === undefined) {
      days.set(day, rows = new Map())
      const oldest = dayOf(this.#now() - KEPT_DAYS * DAY)
      for (const known of days.keys()) if (known < oldest) days.delete(known)
    }
    const own = JSON.stringify(row)
    const place = rows.has(own) || rows.size < MAX_ROWS ? own : JSON.stringify(row.map(() => OTHERS))
    const sum = rows.get(place)
    if (sum === undefined) rows.set(place, [...numbers])
    else addTo(sum, numbers)
  }

  /** A report that fails may have arrived: it is sent again as it was, before newer counts. */
  async #share (shared: SharedUsage): Promise<void> {
    this.#timer = undefined
    this.#report ??= this.#unreported.size === 0 ? undefined : { id: randomUUID(), days: this.#unreported }
    if (this.#report === undefined) return
    if (this.#report.days === this.#unreported) this.#unreported = new Map()
    const { id, days } = this.#report
    try {
      for (const [day, rows] of days) await shared.add(day, rows, id)
      this.#report = undefined
    } catch {
      // The connection has logged why.
    }
    if (this.#report !== undefined || this.#unreported.size > 0) this.#timer ??= setTimeout(() => { this.#sharing = this.#share(shared) }, SHARE_AFTER).unref()
  }
}

/** In ms. */
export const DAY = 86_400_000

/** In UTC. @param time in ms since 1970 */
export function dayOf (time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}

function daysBetween (from: string, to: string): string[] {
  const days: string[] = []
  for (let time = Date.parse(from); time <= Date.parse(to) && days.length <= KEPT_DAYS; time += DAY) days.push(dayOf(time))
  return days
}

function addTo (sum: number[], numbers: readonly number[]): void {
  for (let index = 0; index < numbers.length; index++) sum[index] = (sum[index] ?? 0) + (numbers[index] ?? 0)
}
