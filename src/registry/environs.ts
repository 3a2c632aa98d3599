import { LRUCache } from 'lru-cache'
import { storeUnavailable } from '../errors.ts'
import { keyToPath, pathToKey } from '../store/keys.ts'
import { StoreError, type Store, type StoredValue } from '../store/store.ts'
import { type EnvironSource, type EnvironValue } from '../template/run.ts'
import { decodeValue } from './decode-value.ts'
import { RejectedEntry, reject } from './diagnostic.ts'
import { type EntryProblem } from './entry-table.ts'
import { EnvironIndex } from './environ-index.ts'

/** How long a value is taken from memory while nothing tells of changes, in ms (requirement C-19). */
const FRESH_MILLISECONDS = 5000

/** Values kept in memory, in bytes of stored text. */
const MAX_CACHED_BYTES = 64 * 1024 * 1024

/** Deeper keys than this are rejected, so that whatever recurses over the tree has a bound. */
const MAX_SEGMENTS = 32

/** A value in memory. It is kept beyond its freshness, to be served when the store cannot be asked. */
interface CachedValue extends EnvironValue {
  readonly freshUntil: number
}

/**
 * The shared variables: every name, and the values that renders have needed. A change of the index is visible at once;
 * a value is at most 5 s old, or as old as the outage that keeps it from being read again.
 */
export class Environs implements EnvironSource {
  readonly index = new EnvironIndex()
  readonly #store: Store
  readonly #prefix: string
  readonly #now: () => number
  readonly #values = new LRUCache<string, CachedValue>({ maxSize: MAX_CACHED_BYTES })
  readonly #reading = new Map<string, Promise<EnvironValue | undefined>>()
  readonly #problems = new Map<string, EntryProblem>()
  #misnamed: readonly EntryProblem[] = []

  /** @param prefix of environ keys, `shenma:environs:` @param now a clock in ms */
  constructor (store: Store, prefix: string, now: () => number = () => performance.now()) {
    this.#store = store
    this.#prefix = prefix
    this.#now = now
  }

  /**
   * Takes the whole set of keys that exist; values of names that are gone are forgotten.
   * @returns the names that have no value in memory
   */
  replaceKeys (keys: readonly string[]): readonly string[] {
    const names: string[] = []
    const misnamed: EntryProblem[] = []
    for (const key of keys) {
      const reason = misnaming(key.slice(this.#prefix.length))
      if (reason === undefined) names.push(keyToPath(key, this.#prefix))
      else misnamed.push({ key, diagnostics: reject('KEY_INVALID', reason).diagnostics, servesLastGood: false })
    }
    this.#misnamed = misnamed
    this.index.replace(names.sort())
    for (const name of [...this.#values.keys(), ...this.#problems.keys()]) {
      if (!this.index.has(name)) this.#forget(name)
    }
    return names.filter(name => !this.#values.has(name))
  }

  /** Makes the next use of these names read them again; what is in memory stays as the last good value. */
  expire (names: Iterable<string>): void {
    for (const name of names) {
      this.#reading.delete(name)
      const known = this.#values.peek(name)
      if (known !== undefined) this.#keep(name, { ...known, freshUntil: 0 })
    }
  }

  /** Every shared variable that cannot be used as it is stored. */
  problems (): readonly EntryProblem[] {
    return [...this.#misnamed, ...this.#problems.values()]
  }

  has (name: string): boolean {
    return this.index.has(name)
  }

  hasBelow (name: string): boolean {
    return this.index.hasBelow(name)
  }

  namesBelow (name: string, limit: number): readonly string[] | undefined {
    return this.index.namesBelow(name, limit)
  }

  segmentsBelow (name: string): readonly string[] {
    return this.index.segmentsBelow(name)
  }

  cached (name: string): EnvironValue | undefined {
    const known = this.#values.get(name)
    return known !== undefined && known.freshUntil > this.#now() ? known : undefined
  }

  /** Reads values, in one round trip for those that no other render is already reading. */
  async fetch (names: readonly string[]): Promise<ReadonlyMap<string, EnvironValue>> {
    const unasked = names.filter(name => !this.#reading.has(name))
    if (unasked.length > 0) this.#startReading(unasked)
    const values = new Map<string, EnvironValue>()
    await Promise.all(names.map(async name => {
      const value = await this.#reading.get(name)
      if (value !== undefined) values.set(name, value)
    }))
    return values
  }

  #startReading (names: readonly string[]): void {
    const reading = this.#store.read(names.map(name => pathToKey(name, this.#prefix)))
    for (const [index, name] of names.entries()) {
      const value: Promise<EnvironValue | undefined> = reading
        .then(results => this.#take(name, results[index] as StoredValue, this.#reading.get(name) === value), error => this.#outlive(name, error))
        .finally(() => { if (this.#reading.get(name) === value) this.#reading.delete(name) })
      this.#reading.set(name, value)
      // A render that has ended meanwhile no longer waits; whoever waits still sees the rejection.
      value.catch(() => {})
    }
  }

  /** @param isCurrent false when the key changed while it was being read: the value serves who waits, and is not kept */
  #take (name: string, stored: StoredValue, isCurrent: boolean): EnvironValue | undefined {
    if (stored.kind === 'missing') return this.#doubt(name)
    try {
      if (stored.kind === 'bad') throw reject('VALUE_INVALID', stored.reason)
      const { value, diagnostics } = decodeValue('environs', stored.text)
      if (diagnostics.length === 0) this.#problems.delete(name)
      else this.#problems.set(name, { key: pathToKey(name, this.#prefix), diagnostics, servesLastGood: false })
      const entry = { value, bytes: Buffer.byteLength(stored.text), freshUntil: isCurrent ? this.#freshUntil(stored.expiresAt) : 0 }
      this.#keep(name, entry)
      return entry
    } catch (error) {
      if (!(error instanceof RejectedEntry)) throw error
      const lastGood = this.#values.peek(name)
      this.#problems.set(name, { key: pathToKey(name, this.#prefix), diagnostics: error.diagnostics, servesLastGood: lastGood !== undefined })
      if (lastGood === undefined) throw storeUnavailable(`shared variable "${name}": ${error.message}`)
      this.#keep(name, { ...lastGood, freshUntil: this.#now() + FRESH_MILLISECONDS })
      return lastGood
    }
  }

  /**
   * A value that is gone while its name is listed: deleted a moment ago, or the store was emptied by an accident. The
   * listing decides, since it is held where it cannot be believed; until then the last good value is served.
   */
  #doubt (name: string): EnvironValue | undefined {
    const lastGood = this.#values.peek(name)
    if (lastGood === undefined || !this.index.has(name)) return undefined
    this.#keep(name, { ...lastGood, freshUntil: this.#now() + FRESH_MILLISECONDS })
    return lastGood
  }

  /** During an outage what is in memory is served, however old. */
  #outlive (name: string, error: unknown): EnvironValue {
    if (!(error instanceof StoreError)) throw error
    const lastGood = this.#values.peek(name)
    if (lastGood === undefined) throw storeUnavailable(`shared variable "${name}": ${error.message}`)
    this.#keep(name, { ...lastGood, freshUntil: this.#now() + FRESH_MILLISECONDS })
    return lastGood
  }

  #freshUntil (expiresAt: number | undefined): number {
    const now = this.#now()
    return expiresAt === undefined ? now + FRESH_MILLISECONDS : now + Math.min(FRESH_MILLISECONDS, Math.max(0, expiresAt - Date.now()))
  }

  #keep (name: string, value: CachedValue): void {
    this.#values.set(name, value, { size: Math.max(1, value.bytes + name.length) })
  }

  #forget (name: string): void {
    this.#values.delete(name)
    this.#problems.delete(name)
  }
}

function misnaming (name: string): string | undefined {
  const segments = name.split(':')
  if (segments.includes('')) return 'the key has an empty segment'
  if (name.includes('.')) return 'the key has a "." inside a segment, which no path can name'
  return segments.length > MAX_SEGMENTS ? `the key has more than ${MAX_SEGMENTS} segments` : undefined
}
