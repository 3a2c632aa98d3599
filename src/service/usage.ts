import { randomUUID } from 'node:crypto'
import type { Caller } from '../access/caller.ts'
import { beginningOf } from '../base/text.ts'
import type { TokenUsage } from '../observe/activity.ts'
import { BoundedNames, LONG_DURATIONS } from '../observe/metrics.ts'
import type { Prices } from '../observe/prices.ts'
import { inTurn } from '../runtime/event-loop.ts'
import { addRow, type Counts, KEPT_DAYS, MemoryUsage, type UsageStore } from '../store/usage-store.ts'

// What models were asked, by whom, with which prompt, how it ended, and what it cost: a row for each day and combination, in a store that may
// be shared, and that gets the counts within a second.

/** What a row is about. `''` stands for none: no token, no prompt, no label. */
export const USAGE_KEYS = ['day', 'token', 'prompt', 'version', 'label', 'model'] as const

/** `cost` is in billionths of a USD, of the calls whose price is known; the others are counted in `unpricedCalls`. Stores know their order. */
const USAGE_COUNTS = [
  'calls', 'estimatedCalls', 'unpricedCalls', 'inputTokens', 'outputTokens', 'cachedTokens', 'reasoningTokens', 'estimatedTokens', 'cost', 'errors'
] as const

/** Bounds for how long whole answers took, in ms; stores know their order. */
export const TIMES: readonly number[] = LONG_DURATIONS.map(seconds => seconds * 1000)

export type UsageKey = typeof USAGE_KEYS[number]
type UsageCount = typeof USAGE_COUNTS[number]
export interface UsageRow extends Readonly<Record<UsageKey, string> & Record<UsageCount, number>> {
  /** Whose time was counted: calls that were answered to their end. */
  readonly timedCalls: number
  /** The least bound within which 95 of 100 came, in ms; infinite beyond all bounds, `undefined` without timed calls. */
  readonly p95: number | undefined
}

/** In characters. */
const MAX_MODEL_NAME = 200

/** Names of models that have answered and are known by it. */
const MAX_MODELS = 1000

/** In ms. */
const SHARE_AFTER = 1000

export interface UsedBy {
  readonly caller: Caller
  /** `''` when the caller wrote the messages without a prompt. */
  readonly prompt: string
  readonly activity?: { readonly promptVersion: number | undefined, readonly promptLabel: string | undefined } | undefined
}

/** How a call ended: answered after so many ms, failed, or left by its caller. */
export type CallEnd = number | 'failed' | 'left'

export class UsageLedger {
  readonly prices: Prices
  readonly #store: UsageStore
  readonly #now: () => number
  readonly #models = new BoundedNames(MAX_MODELS)
  #unreported = new Map<string, Map<string, number[]>>()
  #report: { readonly id: string, readonly days: Map<string, Map<string, number[]>> } | undefined
  #timer: NodeJS.Timeout | undefined
  #turn: Promise<unknown> = Promise.resolve()

  /** @param now in ms since 1970 */
  constructor (prices: Prices, store: UsageStore = new MemoryUsage(), now = Date.now) {
    this.prices = prices
    this.#store = store
    this.#now = now
  }

  /** @returns what it cost, in billionths of a USD; `undefined` when nobody knows */
  count ({ caller, prompt, activity }: UsedBy, given: string, usage: TokenUsage, end: CallEnd): number | undefined {
    const model = beginningOf(given, MAX_MODEL_NAME)
    const cost = this.prices.costOf(model, usage)
    const { inputTokens, outputTokens, cachedTokens = 0, reasoningTokens = 0, isEstimate } = usage
    const row = JSON.stringify([caller.name, prompt, String(activity?.promptVersion ?? ''), activity?.promptLabel ?? '', this.#named(model, end)])
    const counts = [
      1, Number(isEstimate), Number(cost === undefined), inputTokens, outputTokens, cachedTokens, reasoningTokens, isEstimate ? inputTokens + outputTokens : 0,
      cost ?? 0, Number(end === 'failed')
    ]
    if (typeof end === 'number') {
      const place = TIMES.findIndex(bound => end <= bound)
      for (let index = place < 0 ? TIMES.length : place; index > 0; index--) counts.push(0)
      counts.push(1)
    }
    const day = dayOf(this.#now())
    let rows = this.#unreported.get(day)
    if (rows === undefined) this.#unreported.set(day, rows = new Map())
    addRow(rows, row, counts)
    this.#shareSoon()
    return cost
  }

  /** Models that are configured. */
  expect (models: Iterable<string>): void {
    this.#models.reserve(models)
  }

  /** When the counts begin, in ms since 1970; `undefined` where they outlive the processes. */
  async since (): Promise<number | undefined> {
    return await this.#store.since()
  }

  /**
   * Sums of the rows from one day to another, both included, over what `by` does not name, of those that have the wanted values.
   * Beyond `MAX_ROWS` they are one. @throws Error while the store is away
   */
  async read (from: string, to: string, by: readonly UsageKey[], wanted: Readonly<Partial<Record<UsageKey, string>>> = {}): Promise<readonly UsageRow[]> {
    const days = daysBetween(from, to)
    const places = by.map(key => USAGE_KEYS.indexOf(key))
    const only = USAGE_KEYS.flatMap((key, place) => wanted[key] === undefined ? [] : [{ place, value: wanted[key] }])
    // A row that lacks the text of a wanted value is not meant, and need not be parsed.
    const marks = only.filter(({ place }) => place > 0).map(({ value }) => JSON.stringify(value))
    const sums = new Map<string, number[]>()
    const take = (day: string, rows: ReadonlyMap<string, Counts>): void => {
      for (const [text, counts] of rows) {
        if (!marks.every(mark => text.includes(mark))) continue
        const values = [day, ...JSON.parse(text) as string[]]
        if (only.every(({ place, value }) => values[place] === value)) addRow(sums, JSON.stringify(places.map(place => values[place])), counts)
      }
    }
    // In turn with reports, so that what is on its way is counted once.
    await this.#inTurn(async () => {
      for (const day of days) {
        const rows = await this.#store.read(day)
        await inTurn(() => { take(day, rows) })
      }
      for (const unsent of [this.#unreported, this.#report?.days]) for (const [day, rows] of unsent ?? []) if (days.includes(day)) take(day, rows)
    })
    return Array.from(sums, ([text, counts]) => {
      const values = JSON.parse(text) as string[]
      const keys = Object.fromEntries(USAGE_KEYS.map(key => [key, by.includes(key) ? values[by.indexOf(key)] : ''])) as Record<UsageKey, string>
      return { ...keys, ...describe(counts) }
    })
  }

  async close (): Promise<void> {
    await this.#inTurn(() => this.#share())
    clearTimeout(this.#timer)
    await this.#store.close()
  }

  /** Callers make up names of models: one that has never answered gets no row of its own for its failures. */
  #named (model: string, end: CallEnd): string {
    if (end === 'failed') return this.#models.find(model)
    this.#models.take(model)
    return model
  }

  async #inTurn (work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    await done
  }

  #shareSoon (): void {
    this.#timer ??= setTimeout(() => { void this.#inTurn(() => this.#share()) }, SHARE_AFTER).unref()
  }

  /** A report that fails may have arrived: it is sent again as it was, before newer counts. */
  async #share (): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#report ??= this.#unreported.size === 0 ? undefined : { id: randomUUID(), days: this.#unreported }
    if (this.#report === undefined) return
    if (this.#report.days === this.#unreported) this.#unreported = new Map()
    const { id, days } = this.#report
    try {
      for (const [day, rows] of days) await this.#store.add(day, rows, id)
      this.#report = undefined
    } catch {
      // The connection has logged why.
    }
    if (this.#report !== undefined || this.#unreported.size > 0) this.#shareSoon()
  }
}

function describe (counts: Counts): Omit<UsageRow, UsageKey> {
  const named = Object.fromEntries(USAGE_COUNTS.map((name, index) => [name, counts[index] ?? 0])) as Record<UsageCount, number>
  const times = counts.slice(USAGE_COUNTS.length)
  const timedCalls = times.reduce((sum, each) => sum + each, 0)
  let within = 0
  const place = times.findIndex(each => (within += each) >= 0.95 * timedCalls)
  return { ...named, timedCalls, p95: timedCalls === 0 ? undefined : TIMES[place] ?? Infinity }
}

/** In ms. */
export const DAY = 86_400_000

/** In UTC. @param time in ms since 1970 */
export function dayOf (time: number): string {
  const number = Math.floor(time / DAY)
  if (number !== lastDay.number) lastDay = { number, text: new Date(time).toISOString().slice(0, 10) }
  return lastDay.text
}

/** Every call is counted on a day, mostly on the same. */
let lastDay = { number: NaN, text: '' }

function daysBetween (from: string, to: string): string[] {
  const days: string[] = []
  for (let time = Date.parse(from); time <= Date.parse(to) && days.length <= KEPT_DAYS; time += DAY) days.push(dayOf(time))
  return days
}
