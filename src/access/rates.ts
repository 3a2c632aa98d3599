import { type SharedCounters } from '../store/redis/redis-counters.ts'
import { type Caller, type CallerLimits } from './caller.ts'

/** What is limited. */
export type Rated = keyof CallerLimits

/** How far a caller has used up one of its limits. */
export interface RateState {
  /** Of one minute. */
  readonly limit: number
  readonly remaining: number
  /** Until the next minute begins. */
  readonly seconds: number
}

/** What replicas have in common is asked for so long after something was counted, in ms: many requests share one question. */
const SHARE_AFTER = 200

const MINUTE = 60_000

/** One caller's use of one thing in one minute. */
interface Window {
  readonly minute: number
  /** By all replicas, as far as it is known here. */
  used: number
  /** Counted here. */
  own: number
  /** Of that, what the others are known to have received. */
  reported: number
}

export interface RatesOptions {
  /** What all replicas share; `undefined`: each counts by itself. */
  readonly shared: SharedCounters | undefined
  /** Of the keys in it: `shenma:rates:counts:`. */
  readonly prefix: string
  /** In ms since 1970. */
  readonly now?: () => number
}

/**
 * Counts what callers use each minute. A request never waits for it: counts are kept here, reported to the other replicas in
 * the background and corrected by what those have counted. Without the others, as in an outage, each replica allows the
 * whole limit. There are as many windows as tokens have limits, since names come from the operator.
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

  /** How much a caller has left; `undefined` for one without that limit. */
  remaining ({ name, limits }: Caller, rated: Rated): RateState | undefined {
    const limit = limits[rated]
    if (limit === undefined) return undefined
    const now = this.#now()
    const { used } = this.#window(name, rated, now)
    return { limit, remaining: Math.max(0, limit - used), seconds: Math.ceil((MINUTE - now % MINUTE) / 1000) }
  }

  /** Counts what a caller has used; does nothing for one without that limit. */
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
      // The connection logs its troubles. What was counted here stays counted, and is reported next time.
      if (total === undefined) continue
      window.reported = own
      window.used = total + window.own - own
    }
  }
}
