import { LRUCache } from 'lru-cache'
import { type Store, StoreError } from '../../store/store.ts'

/** The greatest number of keys that the store is asked for at a time; further ones count as absent. */
const MAX_UNDER_WAY = 64

/** How long a key that the store did not have is not asked for again, in ms, and the greatest number of such keys that are remembered. */
const ABSENT_MS = 1000
const MAX_ABSENT = 10_000

/**
 * Asks the store for keys that are not loaded, since the store has perhaps not yet reported a key that was stored a moment ago. Callers can invent as
 * many keys as they like. So a key that the store did not have is asked for at most once a second, and only few keys are asked for at a time.
 */
export class Seeker {
  readonly #store: Pick<Store, 'has'>
  readonly #load: (key: string) => Promise<void>
  readonly #underWay = new Map<string, Promise<boolean>>()
  // The bound is a sum of sizes of 1, because the cache would reserve half a megabyte at once for a maximum number of entries.
  readonly #absent = new LRUCache<string, true>({ maxSize: MAX_ABSENT, sizeCalculation: () => 1, ttl: ABSENT_MS })

  /** @param load loads the entry of a key that the store has */
  constructor (store: Pick<Store, 'has'>, load: (key: string) => Promise<void>) {
    this.#store = store
    this.#load = load
  }

  /**
   * Asks the store for a key. It does not ask when the store did not have the key a moment ago, or when too many keys are being asked for.
   * @returns whether the key was found, and is loaded by now
   */
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

  /** Asks the store for one key. In an outage nothing is found; the next read of the whole store reports the outage. */
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
