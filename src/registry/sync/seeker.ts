import { LRUCache } from 'lru-cache'
import { type Store, StoreError } from '../../store/store.ts'

/** The greatest number of questions to the store under way at a time; further ones are not asked. */
const MAX_UNDER_WAY = 64

/** How long the store is not asked again for a key that it did not have, in ms, and how many such keys are remembered. */
const ABSENT_MS = 1000
const MAX_ABSENT = 10_000

/**
 * Asks the store for keys of which nothing is loaded: the store may not have pushed an entry yet that was stored a moment ago. Callers
 * can invent as many keys as they like, so the store is asked for each key once at a time and once a second, and for few keys together.
 */
export class Seeker {
  readonly #store: Pick<Store, 'has'>
  readonly #load: (key: string) => Promise<void>
  readonly #underWay = new Map<string, Promise<boolean>>()
  // Entries are counted by size, because the cache would reserve half a megabyte at once for a maximum number of entries.
  readonly #absent = new LRUCache<string, true>({ maxSize: MAX_ABSENT, sizeCalculation: () => 1, ttl: ABSENT_MS })

  /** @param load loads the entry of a key that the store has */
  constructor (store: Pick<Store, 'has'>, load: (key: string) => Promise<void>) {
    this.#store = store
    this.#load = load
  }

  /** Looks for a key, and loads its entry. @returns whether the store has the key */
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

  /** Asks the store for one key. In an outage nothing is found: whoever reads the whole store reports the outage. */
  async #ask (key: string): Promise<boolean> {
    try {
      const [exists] = await this.#store.has([key])
      if (exists === true) await this.#load(key)
      return exists === true
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      return false
    }
  }
}
