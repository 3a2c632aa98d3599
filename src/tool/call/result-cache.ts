import { LRUCache } from 'lru-cache'
import { type Json } from '../../base/json.ts'

/** The estimated memory of a cached result beside its key and value, in bytes, so that the number of very small results is bounded, too. */
const OVERHEAD = 200

/** The result of a tool's call. */
export interface Result {
  readonly value: Json
  /** The length of the result's JSON text, in UTF-16 units. */
  readonly size: number
}

/** The cache of the results of all tools, by tool and arguments. Results of tools with `cacheTtl` are kept in it beyond their render. */
export class ResultCache {
  readonly #results: LRUCache<string, Result>
  #hits = 0
  #misses = 0

  /** @param bytes the bound of the memory of all results, counted as JSON */
  constructor (bytes: number) {
    this.#results = new LRUCache({ maxSize: bytes })
  }

  get (key: string): Result | undefined {
    const known = this.recall(key)
    if (known === undefined) this.#misses++
    return known
  }

  /** The cached result of a key. A miss is not counted, because the caller then calls `get`, which counts it. */
  recall (key: string): Result | undefined {
    const known = this.#results.get(key)
    if (known !== undefined) this.#hits++
    return known
  }

  /** Keeps a result. @param ttl how long it is kept, in ms */
  set (key: string, result: Result, ttl: number): void {
    this.#results.set(key, result, { ttl, size: key.length + result.size + OVERHEAD })
  }

  /** The present contents, and the hits and misses since the start. */
  statistics () {
    return { hits: this.#hits, misses: this.#misses, entries: this.#results.size, bytes: this.#results.calculatedSize }
  }
}
