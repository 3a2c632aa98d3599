import { LRUCache } from 'lru-cache'
import { type Json } from '../../base/json.ts'

/** What a result takes beside its key and value, about, in bytes. So even very small results come to an end. */
const OVERHEAD = 200

/** What a tool gave. */
export interface Result {
  readonly value: Json
  /** Of its JSON text, in UTF-16 units. */
  readonly size: number
}

/** Results of all tools that are kept beyond their render, by revision and arguments. */
export class ResultCache {
  readonly #results: LRUCache<string, Result>
  #hits = 0
  #misses = 0

  /** @param bytes how much of them is kept, counted as JSON */
  constructor (bytes: number) {
    this.#results = new LRUCache({ maxSize: bytes })
  }

  get (key: string): Result | undefined {
    const known = this.recall(key)
    if (known === undefined) this.#misses++
    return known
  }

  /** The same for somebody who goes on to `get` what is not there, so that it is counted once. */
  recall (key: string): Result | undefined {
    const known = this.#results.get(key)
    if (known !== undefined) this.#hits++
    return known
  }

  /** @param ttl how long it is kept, in ms */
  set (key: string, result: Result, ttl: number): void {
    this.#results.set(key, result, { ttl, size: key.length + result.size + OVERHEAD })
  }

  /** What it holds now, and how often it was asked since the start. */
  statistics () {
    return { hits: this.#hits, misses: this.#misses, entries: this.#results.size, bytes: this.#results.calculatedSize }
  }
}
