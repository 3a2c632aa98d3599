import { type SharedCounters } from '../store/redis/redis-counters.ts'
import { type Caller, type CallerLimits } from './caller.ts'

/** What a caller's limit counts: `requests` or (model) `tokens`. */
export type Rated = keyof CallerLimits

/** How much of one limit (requests or model tokens) a caller has used up in the present minute. */
export interface RateState {
  /** The most that the caller may use in one minute. */
  readonly limit: number
  readonly remaining: number
  /** The time until the next minute begins, in s. */
  readonly seconds: number
}

/** The delay between a count and the report of it to the counters that all replicas share, in ms. Many requests share one report. */
const SHARE_AFTER = 200

const MINUTE = 60_000

/** The use that one caller has made of one limit (requests or model tokens) in one minute. */
interface Window {
  readonly minute: number
  /** The amount that was used on all replicas, as far as this replica knows. */
  used: number
  /** The amount that this replica has counted. */
  own: number
  /** The part of `own` that was reported to the shared counters. */
  reported: number
}

export interface RatesOptions {
  /** The counters that all replicas share; `undefined` when this replica counts alone. */
  readonly shared: SharedCounters | undefined
  /** The prefix of the shared counters' keys: `shenma:rates:counts:`. */
  readonly prefix: string
  /** Gives the current time, in ms since 1970; left out for `Date.now`. */
  readonly now?: () => number
}

/**
 * Counts what callers use in each minute. A request never waits for the counters that all replicas share: each replica counts in memory,
 * reports its counts in the background, and then uses the totals of all replicas. While the shared counters cannot be reached, each replica
 * allows the whole limit. The memory is bounded, because it holds one minute's counts for each limit of each configured caller.
 */
export class Rates {
  readonly #shared: SharedCounters | undefined
  readonly #prefix: string
  readonly #now: () => number
  readonly #windows = new Map<string, Window>()
  #timer: NodeJS.Timeout | undefined
  #sharing: Promise<void> = Promise.resolve()

  constructor ({ shared, prefix, now = Date.now }: RatesOptions) {
    this.#shared = shared
    this.#prefix = prefix
    this.#now = now
  }

  /** How many requests or model tokens a caller can still use in this minute; `undefined` for a caller without a limit on them. */
  remaining ({ name, limits }: Caller, rated: Rated): RateState | undefined {
    const limit = limits[rated]
    if (limit === undefined) return undefined
    const now = this.#now()
    const { used } = this.#window(name, rated, now)
    return { limit, remaining: Math.max(0, limit - used), seconds: Math.ceil((MINUTE - now % MINUTE) / 1000) }
  }

  /** Adds to the requests or model tokens that a caller has used; does nothing for a caller without a limit on them. */
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
      // A total is missing when the store of the shared counters failed; the connection to that store logs the failure. This replica's count is
      // kept and reported the next time.
      if (total === undefined) continue
      window.reported = own
      window.used = total + window.own - own
    }
  }
}
