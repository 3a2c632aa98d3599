// Where calls of models are counted and budgets are held: in Redis for all replicas, in the primary process for its workers, or in this process.

/** What is counted of a row; the first ones have names, then the answers by how long they took. */
export type Counts = readonly number[]

/** All reject while the store is away. */
export interface UsageStore {
  /** When it began to count, in ms since 1970; `undefined` for one that outlives its processes. */
  since (): Promise<number | undefined>
  /** Adds the counts of each row (by its text) of a day; the same report counts once, however often it is sent. */
  add (day: string, rows: ReadonlyMap<string, Counts>, report: string): Promise<void>
  read (day: string): Promise<ReadonlyMap<string, Counts>>
  /** Holds a call's estimate for it, unless what is used and held has reached the bound already. @param lifetime of the budget, in ms */
  reserve (budget: string, call: string, amount: number, most: number, lifetime: number): Promise<{ readonly isFree: boolean, readonly used: number }>
  /** What the call has used, in place of what it held; a second time does nothing. */
  settle (budget: string, call: string, amount: number): Promise<void>
  /** What is used and held. */
  used (budget: string): Promise<number>
  close (): Promise<void>
}

/** Callers may name any model; rows of a day beyond these are one, `OTHERS`. */
export const MAX_ROWS = 5000

/** A row for all that have no room, however many names it has. */
export const OTHERS = JSON.stringify(Array(6).fill('(others)'))

/** Days for which rows are kept, with today one more. */
export const KEPT_DAYS = 90

export function addRow (rows: Map<string, number[]>, row: string, counts: Counts): void {
  const place = rows.has(row) || rows.size < MAX_ROWS ? row : OTHERS
  const sum = rows.get(place)
  if (sum === undefined) rows.set(place, [...counts])
  else {
    for (let index = 0; index < counts.length; index++) sum[index] = (sum[index] ?? 0) + (counts[index] ?? 0)
  }
}

/** Periods of a budget that are known: a clock that is set back must not begin one anew. */
const MAX_PERIODS = 3

/** For one process and those that it serves, since its start. It never fails, so that no report comes twice. */
export class MemoryUsage implements UsageStore {
  readonly #since = Date.now()
  readonly #days = new Map<string, Map<string, number[]>>()
  readonly #budgets = new Map<string, { used: number, readonly held: Map<string, number> }>()

  async since (): Promise<number> {
    return this.#since
  }

  async add (day: string, rows: ReadonlyMap<string, Counts>): Promise<void> {
    let known = this.#days.get(day)
    if (known === undefined) {
      this.#days.set(day, known = new Map())
      dropFirst(this.#days, [...this.#days.keys()], KEPT_DAYS + 1)
    }
    for (const [row, counts] of rows) addRow(known, row, counts)
  }

  async read (day: string): Promise<ReadonlyMap<string, Counts>> {
    return this.#days.get(day) ?? new Map<string, Counts>()
  }

  async reserve (key: string, call: string, amount: number, most: number): Promise<{ readonly isFree: boolean, readonly used: number }> {
    let budget = this.#budgets.get(key)
    if (budget === undefined) {
      this.#budgets.set(key, budget = { used: 0, held: new Map<string, number>() })
      const ofIt = key.slice(0, key.lastIndexOf(':') + 1)
      dropFirst(this.#budgets, [...this.#budgets.keys()].filter(known => known.startsWith(ofIt)), MAX_PERIODS)
    }
    const used = sumOf(budget)
    if (used >= most) return { isFree: false, used }
    budget.held.set(call, amount)
    return { isFree: true, used }
  }

  async settle (key: string, call: string, amount: number): Promise<void> {
    const budget = this.#budgets.get(key)
    if (budget?.held.delete(call) === true) budget.used += amount
  }

  async used (key: string): Promise<number> {
    const budget = this.#budgets.get(key)
    return budget === undefined ? 0 : sumOf(budget)
  }

  async close (): Promise<void> {}
}

function sumOf ({ used, held }: { readonly used: number, readonly held: ReadonlyMap<string, number> }): number {
  return [...held.values()].reduce((sum, each) => sum + each, used)
}

/** Keys end with a day or month, so that the first in their order are the oldest. */
function dropFirst (map: Map<string, unknown>, keys: readonly string[], most: number): void {
  for (const key of keys.toSorted().slice(0, Math.max(0, keys.length - most))) map.delete(key)
}
