import { LRUCache } from 'lru-cache'

/** The greatest number of questions under way at a time; further ones are not asked. */
const MAX_UNDER_WAY = 64

/** How long a key that was not there is not asked for again, in ms, and how many such keys are kept in mind. */
const ABSENT_MS = 1000
const MAX_ABSENT = 10_000

/**
 * Asks the store for keys that nothing is loaded of: what was stored a moment ago may not have been pushed yet. Callers
 * can invent as many keys as they like, so each is asked for once at a time and once a second, and few together.
 */
export class Seeker {
  readonly #ask: (key: string) => Promise<boolean>
  readonly #underWay = new Map<string, Promise<boolean>>()
  // Entries are counted by size, because the cache would reserve half a megabyte at once for a maximum number of entries.
  readonly #absent = new LRUCache<string, true>({ maxSize: MAX_ABSENT, sizeCalculation: () => 1, ttl: ABSENT_MS })

  /** @param ask whether the store has a key; where it has, loads it before it answers; must not reject */
  constructor (ask: (key: string) => Promise<boolean>) {
    this.#ask = ask
  }

  /** Gives whether the key was found, and is loaded by now. */
  seek (key: string): Promise<boolean> {
    const known = this.#underWay.get(key)
    if (known !== undefined) return known
    if (this.#absent.has(key) || this.#underWay.size >= MAX_UNDER_WAY) return Promise.resolve(false)
    const answer = this.#ask(key).then(isFound => {
      if (!isFound) this.#absent.set(key, true)
      return isFound
    }).finally(() => this.#underWay.delete(key))
    this.#underWay.set(key, answer)
    return answer
  }
}
