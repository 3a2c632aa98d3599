import { LRUCache } from 'lru-cache'
import { stringifyJson } from '../json.ts'
import { type Json } from '../template/value.ts'

/** The most results that are kept, however small. */
const MAX_RESULTS = 10_000

/** Results of all tools that are kept beyond their render, by revision and arguments. */
export class ResultCache {
  // A result may be null, and the cache's own word for "not there" is undefined.
  readonly #results: LRUCache<string, { readonly value: Json }>
  #hits = 0
  #misses = 0

  /** @param bytes how much of them is kept, counted as JSON */
  constructor (bytes: number) {
    this.#results = new LRUCache({ maxSize: bytes, max: MAX_RESULTS })
  }

  get (key: string): Json | undefined {
    const known = this.recall(key)
    if (known === undefined) this.#misses++
    return known
  }

  /** The same for somebody who goes on to `get` what is not there, so that it is counted once. */
  recall (key: string): Json | undefined {
    const known = this.#results.get(key)
    if (known !== undefined) this.#hits++
    return known?.value
  }

  /** @param ttl how long it is kept, in ms */
  set (key: string, value: Json, ttl: number): void {
    this.#results.set(key, { value }, { ttl, size: key.length + stringifyJson(value).length })
  }

  /** What it holds now, and how often it was asked since the start. */
  statistics () {
    return { hits: this.#hits, misses: this.#misses, entries: this.#results.size, bytes: this.#results.calculatedSize }
  }
}
