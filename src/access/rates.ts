import { type SharedCounters } from '../store/redis/redis-counters.ts'
import { type Caller, type CallerLimits } from './caller.ts'

export type Rated = Exclude<keyof CallerLimits, 'running'>

export interface RateState {
  readonly limit: number
  readonly remaining: number
  readonly seconds: number
}

/** In ms; many requests share one report to the shared counters. */
const SHARE_AFTER = 200

const MINUTE = 60_000

interface Window {
  readonly minute: number
  used: number
  own: number
  reported: number
}

/** Counts locally and shares in the background, so no request waits; during an outage each replica allows the whole limit. */
export class Rates {
  readonly #shared: SharedCounters | undefined
  readonly #prefix: string
  readonly #now: () => number
  readonly #windows = new Map<string, Window>()
  #timer: NodeJS.Timeout | undefined
  #sharing: Promise<void> = Promise.resolve()

  /** @param now in ms since 1970 */
  constructor ({ shared, prefix, now = Date.now }: { readonly shared: SharedCounters | undefined, readonly prefix: string, readonly now?: () => number }) {
    this.#shared = shared
    this.#prefix = prefix
    this.#now = now
  }

  remaining ({ name, limits }: Caller, rated: Rated): RateState | undefined {
    const limit = limits[rated]
    if (limit === undefined) return undefined
    const now = this.#now()
    const { used } = this.#window(name, rated, now)
    return { limit, remaining: Math.max(0, limit - used), seconds: Math.ceil((MINUTE - now % MINUTE) / 1000) }
  }

  count ({ name, limits }: Caller, rated: Rated, amount: number): void {
    if (limits[rated] === undefined) return
    const window = this.#window(name, rated, this.#now())
    window.used += amount
    window.own += amount
    if (this.#shared === undefined) return
    this.#timer ??= setTimeout(() => { this.#sharing = this.#share(this.#shared as SharedCounters) }, SHARE_AFTER).unref()
  }

  async close (): Promise<void> {
    clearTimeout(this.#timer)
    await this.#sharing
    await this.#shared?.close()
  }

  #window (name: string, rated: Rated, now: number): Window {
    const key = `${rated}:${name}`
    const minute = Math.floor(now / MINUTE)
    const known = this.#windows.get(key)
    if (known?.minute === minute) return known
    const fresh = { minute, used: 0, own: 0, reported: 0 }
    this.#windows.set(key, fresh)
    return fresh
  }

  async #share (shared: SharedCounters): Promise<void> {
    this.#timer = undefined
    const reports = new Map<string, { window: Window, own: number }>()
    for (const [key, window] of this.#windows) {
      if (window.own > window.reported) reports.set(`${this.#prefix}${key}:${window.minute}`, { window, own: window.own })
    }
    const totals = await shared.report(new Map(Array.from(reports, ([key, { own }]) => [key, own])), 2 * MINUTE)
    for (const [key, { window, own }] of reports) {
      const total = totals.get(key)
      // The store failed and its connection has logged that; the count is kept and reported the next time.
      if (total === undefined) continue
      window.reported = own
      window.used = total + window.own - own
    }
  }
}
