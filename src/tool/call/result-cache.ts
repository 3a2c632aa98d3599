import { LRUCache } from 'lru-cache'
import { type Json } from '../../base/json.ts'

/** The estimated size of a cached result, in bytes, in addition to its key and value. It also limits the number of very small results. */
const OVERHEAD = 200

/** A result of a tool, as it is cached. */
export interface Result {
  readonly value: Json
  /** The length of the value's JSON text, in UTF-16 units. */
  readonly size: number
}

/** The one cache for the results of all tools whose policy has a `cacheTtl`. A key is the revision (a hash of the registration) with the arguments. */
export class ResultCache {
  readonly #results: LRUCache<string, Result>
  #hits = 0
  #misses = 0

  /** Creates an empty cache. @param bytes the largest total size of the results, counted as JSON */
  constructor (bytes: number) {
    this.#results = new LRUCache({ maxSize: bytes })
  }

  get (key: string): Result | undefined {
    const known = this.recall(key)
    if (known === undefined) this.#misses++
    return known
  }

  /** Looks up a result without counting a miss: a caller that finds none here makes the call next, and the call's `get` counts the miss. */
  recall (key: string): Result | undefined {
    const known = this.#results.get(key)
    if (known !== undefined) this.#hits++
    return known
  }

  /** Stores a result. @param ttl how long it is kept, in ms */
  set (key: string, result: Result, ttl: number): void {
    this.#results.set(key, result, { ttl, size: key.length + result.size + OVERHEAD })
  }

  /** The present size of the cache, and the hits and misses since the start. */
  statistics () {
    return { hits: this.#hits, misses: this.#misses, entries: this.#results.size, bytes: this.#results.calculatedSize }
  }
}
