import { LRUCache } from 'lru-cache'
import { environInvalid, storeUnavailable } from '../../base/errors.ts'
import type { Json } from '../../base/json.ts'
import { keyToPath, pathToKey, type Store, type StoredValue, StoreError } from '../../store/store.ts'
import type { EnvironSource, EnvironValue } from '../../template/run.ts'
import { RESERVED_NAMES } from '../../template/scope.ts'
import { isObject } from '../../template/value.ts'
import { type Diagnostic, describeDiagnostic, RejectedEntry, unreadable } from '../diagnostic.ts'
import type { EntryProblem } from '../entries/entry-table.ts'
import { decodeEnviron, type Kind } from './entry-kind.ts'
import { EnvironIndex, EnvironListing } from './environ-names.ts'

/** How long a value in memory counts as fresh while the store does not push changes, in ms. */
const FRESH_MILLISECONDS = 5000

/** How long a render waits for a newer value before it takes the older one in memory, in ms. A slow Redis can need seconds for an answer. */
const PATIENCE_MILLISECONDS = 100

/** The size that an entry of the cache counts in addition to its text and its name, in bytes. So the number of tiny values has a bound, too. */
const ENTRY_BYTES = 128

/** A value in memory. It is kept after it has stopped being fresh, to be served when the store cannot be asked. */
interface CachedValue extends EnvironValue {
  /** The epoch of the cache in which the value was read. The value is fresh only while the cache is in that epoch: `expireAll` begins a new one. */
  readonly epoch: number
  readonly freshUntil: number
  /** When the value's time to live in the store ends, on this cache's clock. */
  readonly endsAt: number
}

/** The figures of the cache of shared variables' values, for metrics. */
interface EnvironCacheStatistics {
  /** How many look-ups were answered from memory (`hits`), and how many needed the store (`misses`). */
  readonly hits: number
  readonly misses: number
  readonly entries: number
  /** The size of the entries in bytes: their stored texts, their names and a fixed amount for each. */
  readonly bytes: number
}

interface EnvironValuesOptions {
  readonly store: Store
  /** The prefix of the keys of shared variables: `shenma:environs:`. */
  readonly prefix: string
  /** The most memory that all values take, in bytes: stored texts, names and `ENTRY_BYTES` for each. Beyond it the least recently used are dropped. */
  readonly limit: number
  /** A clock in ms. */
  readonly now: () => number
  /** Whether a name is in the index of the shared variables that exist. */
  readonly isListed: (name: string) => boolean
  /** Called with the name of a value whose time to live in the store is over. */
  readonly onExpired: (name: string) => void
}

/**
 * A cache of the values of shared variables that renders have needed. While the store pushes changes, a value is fresh until the store reports a
 * change of it or its time to live is over; otherwise it is fresh for 5 s. During an outage of the store the last value is served, however old it is.
 */
class EnvironValues {
  readonly #options: EnvironValuesOptions
  readonly #values: LRUCache<string, CachedValue>
  readonly #reading = new Map<string, Promise<EnvironValue | undefined>>()
  readonly #problems = new Map<string, EntryProblem>()
  #epoch = 0
  #hits = 0
  #misses = 0

  constructor (options: EnvironValuesOptions) {
    this.#options = options
    this.#values = new LRUCache({ maxSize: options.limit })
  }

  /** The value of a shared variable if it is in memory and fresh; otherwise `undefined`. */
  cached (name: string): EnvironValue | undefined {
    const known = this.#values.get(name)
    if (known !== undefined && this.#isFresh(known)) {
      this.#hits++
      return known
    }
    this.#misses++
    return undefined
  }

  /** The value of a shared variable in memory, fresh or not; `undefined` when there is none. The call counts neither as a use of the value nor as a hit. */
  peek (name: string): EnvironValue | undefined {
    return this.#values.peek(name)
  }

  /** Whether a fresh value of a shared variable is in memory. The call counts neither as a use of the value nor as a hit. */
  isFresh (name: string): boolean {
    const known = this.#values.peek(name)
    return known !== undefined && this.#isFresh(known)
  }

  /** Whether any value of a shared variable is in memory, fresh or not. */
  isKnown (name: string): boolean {
    return this.#values.has(name)
  }

  /** All names with a value in memory, the least recently used first. */
  names (): string[] {
    return [...this.#values.rkeys()]
  }

  /** Marks values as old, so that their next use reads them again. The old values stay in memory for the case that the new ones cannot be used. */
  expire (names: Iterable<string>): void {
    for (const name of names) {
      this.#reading.delete(name)
      const known = this.#values.peek(name)
      if (known !== undefined) this.#keep(name, { ...known, freshUntil: 0 })
    }
  }

  /** Marks every value as old, so that its next use reads it again. */
  expireAll (): void {
    this.#epoch++
    this.#reading.clear()
  }

  /** Drops the values and the problems of names that do not exist any more. */
  forget (names: Iterable<string>): void {
    for (const name of names) {
      this.#values.delete(name)
      this.#problems.delete(name)
    }
  }

  /** Drops the value and the problem of every name that is no longer the name of a shared variable. */
  forgetUnlisted (): void {
    this.forget([...this.#values.keys(), ...this.#problems.keys()].filter(name => !this.#options.isListed(name)))
  }

  /** Whether the last read of a name's value found a problem. */
  hasProblem (name: string): boolean {
    return this.#problems.has(name)
  }

  /** The names whose value could not be used when it was last read, at most `limit` of them. The value that was read longest ago comes first. */
  brokenNames (limit: number): string[] {
    const names: string[] = []
    for (const [name, { diagnostics }] of this.#problems) {
      if (names.length === limit) break
      if (diagnostics.some(({ severity }) => severity === 'error')) names.push(name)
    }
    return names
  }

  problems (): Iterable<EntryProblem> {
    return this.#problems.values()
  }

  statistics (): EnvironCacheStatistics {
    return { hits: this.#hits, misses: this.#misses, entries: this.#values.size, bytes: this.#values.calculatedSize }
  }

  /**
   * Reads values from the store. Names that are already being read for another render are not asked for again; all other names take one round trip.
   * When the store answers slowly and an older value is in memory, that value is given, and the read goes on.
   */
  async fetch (names: readonly string[]): Promise<ReadonlyMap<string, EnvironValue>> {
    const unasked = names.filter(name => !this.#reading.has(name))
    if (unasked.length > 0) this.#startReading(unasked)
    const values = new Map<string, EnvironValue>()
    await Promise.all(names.map(async name => {
      const value = await this.#inTime(name, this.#reading.get(name))
      if (value !== undefined) values.set(name, value)
    }))
    return values
  }

  #inTime (name: string, reading: Promise<EnvironValue | undefined> | undefined): Promise<EnvironValue | undefined> | undefined {
    if (reading === undefined || !this.isKnown(name)) return reading
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const lastGood = this.#values.peek(name)
        if (lastGood !== undefined) resolve(this.#prolong(name, lastGood, this.#options.now() + FRESH_MILLISECONDS))
      }, PATIENCE_MILLISECONDS)
      reading.finally(() => clearTimeout(timer)).then(resolve, reject)
    })
  }

  #isFresh (known: CachedValue): boolean {
    if (known.epoch !== this.#epoch) return false
    const until = Math.min(known.freshUntil, known.endsAt)
    // A render reads tens of values, most of which have no time to live. For these the clock need not be read.
    return until === Infinity || until > this.#options.now()
  }

  #startReading (names: readonly string[]): void {
    const { store, prefix } = this.#options
    const epoch = this.#epoch
    const reading = store.read(names.map(name => pathToKey(name, prefix)))
    for (const [index, name] of names.entries()) {
      const value: Promise<EnvironValue | undefined> = reading
        .then(results => this.#take(
          name,
          results[index] as StoredValue,
          this.#reading.get(name) === value && epoch === this.#epoch
        ), error => this.#outlive(name, error))
        .finally(() => { if (this.#reading.get(name) === value) this.#reading.delete(name) })
      this.#reading.set(name, value)
      // A render that has ended no longer awaits the value, so its rejection would count as unhandled. Renders that still wait get the rejection nevertheless.
      value.catch(() => {})
    }
  }

  /**
   * Puts the store's answer about a name into the cache.
   * @param isCurrent false when the key changed while it was being read: then the value is given to the renders that wait for it, and does not replace
   * a value in memory
   * @returns the value to serve; `undefined` when there is none
   */
  #take (name: string, stored: StoredValue, isCurrent: boolean): EnvironValue | undefined {
    if (stored.kind === 'missing') return this.#doubt(name, isCurrent)
    try {
      if (stored.kind === 'bad') throw unreadable(stored)
      const { value, diagnostics } = decodeEnviron(stored.text)
      if (diagnostics.length === 0) this.#problems.delete(name)
      else this.#note(name, diagnostics, false)
      const found: CachedValue = {
        value,
        bytes: Buffer.byteLength(stored.text),
        epoch: this.#epoch,
        freshUntil: isCurrent ? this.#freshUntil() : 0,
        endsAt: stored.expiresAt === undefined ? Infinity : this.#options.now() + stored.expiresAt - Date.now()
      }
      // The key changed while it was being read, so the value in memory is perhaps newer than the store's answer.
      return isCurrent || !this.isKnown(name) ? this.#keep(name, found) : found
    } catch (error) {
      if (!(error instanceof RejectedEntry)) throw error
      const lastGood = this.#values.peek(name)
      this.#note(name, error.diagnostics, lastGood !== undefined)
      if (lastGood === undefined) {
        throw environInvalid(name, pathToKey(name, this.#options.prefix), error.diagnostics.map(describeDiagnostic), error.diagnostics)
      }
      return this.#prolong(name, lastGood, isCurrent ? this.#freshUntil() : 0)
    }
  }

  /**
   * Decides what to serve for a value that is gone from the store while its name is still in the index: the key was deleted a moment ago, or the store
   * was emptied by accident. The last value is served until the next listing of the store decides. A value whose time to live is over is dropped at
   * once.
   * @returns the value to serve; `undefined` when there is none
   */
  #doubt (name: string, isCurrent: boolean): EnvironValue | undefined {
    const lastGood = this.#values.peek(name)
    if (lastGood === undefined || !this.#options.isListed(name)) return undefined
    // The key has changed while it was being read: perhaps it exists again.
    if (!isCurrent) return lastGood
    if (lastGood.endsAt > this.#options.now()) return this.#prolong(name, lastGood, this.#options.now() + FRESH_MILLISECONDS)
    this.forget([name])
    this.#options.onExpired(name)
    return undefined
  }

  /** Gives the last value of a shared variable during an outage of the store, however old it is. @throws STORE_UNAVAILABLE when there is none */
  #outlive (name: string, error: unknown): EnvironValue {
    if (!(error instanceof StoreError)) throw error
    const lastGood = this.#values.peek(name)
    if (lastGood === undefined) throw storeUnavailable(`shared variable "${name}": ${error.message}`)
    return this.#prolong(name, lastGood, this.#options.now() + FRESH_MILLISECONDS)
  }

  #freshUntil (): number {
    return this.#options.store.status().changes === 'pushed' ? Infinity : this.#options.now() + FRESH_MILLISECONDS
  }

  #prolong (name: string, lastGood: CachedValue, freshUntil: number): CachedValue {
    return this.#keep(name, { ...lastGood, epoch: this.#epoch, freshUntil })
  }

  #keep (name: string, value: CachedValue): CachedValue {
    this.#values.set(name, value, { size: value.bytes + name.length + ENTRY_BYTES })
    return value
  }

  #note (name: string, diagnostics: EntryProblem['diagnostics'], servesLastGood: boolean): void {
    this.#problems.delete(name)
    this.#problems.set(name, { key: pathToKey(name, this.#options.prefix), diagnostics, servesLastGood })
  }
}

/** The greatest number of segments in a key. A deeper key is rejected, so that code that recurses over the tree of names has a bound. */
const MAX_SEGMENTS = 32

/** The most problems that are listed about names that no template can write, and the most about values that other keys hide. */
const MAX_PROBLEMS = 1000

/** The greatest number of values that are read in advance, before a render needs them. */
const MAX_READ_AHEAD = 1000

/** How many values one round trip reads when no render waits for them. */
const READ_BATCH = 250

/** The most memory that the values of shared variables take, in bytes, unless the operator sets another limit. */
const DEFAULT_LIMIT = 64 * 1024 * 1024

interface EnvironsOptions {
  readonly store: Store
  /** The prefix of the keys of shared variables: `shenma:environs:`. */
  readonly prefix: string
  /** The most memory that all values take, in bytes: their stored texts, their names and a fixed amount for each. @default 64 MiB */
  readonly limit?: number
  /** A clock in ms. @default that of `performance.now()` */
  readonly now?: () => number
}

/**
 * All shared variables (environs: JSON values that programs publish for all prompts): every name, and the values that renders have needed. A change
 * of the names is visible at once.
 */
export class Environs implements EnvironSource {
  readonly index = new EnvironIndex()
  readonly #store: Store
  /** The prefix of the keys of shared variables: `shenma:environs:`. */
  readonly prefix: string
  readonly #values: EnvironValues
  #misnamed = new Map<string, EntryProblem>()
  /**
   * The names whose value is no object although keys lie below the name: these keys hide the value. A name is judged again when its value or those keys
   * change.
   */
  readonly #shadowed = new Set<string>()

  constructor ({ store, prefix, limit = DEFAULT_LIMIT, now = () => performance.now() }: EnvironsOptions) {
    this.#store = store
    this.prefix = prefix
    this.#values = new EnvironValues({
      store,
      prefix,
      limit,
      now,
      isListed: name => this.index.has(name),
      onExpired: name => this.index.apply([[name, false]])
    })
  }

  /** Begins a whole listing of the keys in the store. The index stays as it is until the listing replaces it. */
  beginListing (): EnvironListing {
    const misnamed = new Map<string, EntryProblem>()
    return new EnvironListing(this.index, this.#store, this.prefix, key => isWellNamed(key, this.prefix, misnamed), () => {
      this.#misnamed = misnamed
      this.#values.forgetUnlisted()
      for (const name of this.#shadowed) if (!this.#isShadowed(name)) this.#shadowed.delete(name)
    })
  }

  /** Tells the index which of the given keys exist now. The values of deleted keys are forgotten. */
  applyKeys (changes: ReadonlyArray<readonly [key: string, exists: boolean]>): void {
    for (const [key, exists] of changes) if (!exists) this.#misnamed.delete(key)
    // A key with a bad name is skipped. Written as a path it would look like another key (`a.b` like `a:b`), and that one has not changed.
    const named = changes.filter(([key, exists]) => isWellNamed(
      key,
      this.prefix,
      exists ? this.#misnamed : undefined
    )).map(([key, exists]) => [keyToPath(key, this.prefix), exists] as const)
    this.index.apply(named)
    this.#values.forget(named.filter(([, exists]) => !exists).map(([name]) => name))
    for (const [name, exists] of named) {
      if (!exists) this.#shadowed.delete(name)
      this.#judgeAbove(name)
    }
  }

  /** Marks the values of keys as old, so that their next use reads them again. The old values stay in memory for the case that the new ones cannot be used. */
  expireKeys (keys: readonly string[]): void {
    this.#values.expire(keys.map(key => keyToPath(key, this.prefix)))
  }

  /** Marks every value as old, so that its next use reads it again. */
  expireAll (): void {
    this.#values.expireAll()
  }

  /**
   * Reads the names that have no fresh value in memory, so that a bad value is noted as a problem of its key before a render meets it. Where there
   * are too many names, only those with a known problem are read: so a problem goes away when its value is mended.
   * @param changed the keys that have changed; left out after a listing, when any key can have changed
   */
  async readAhead (changed?: readonly string[]): Promise<void> {
    const names = this.index.size <= MAX_READ_AHEAD ? [...this.index] : this.#withProblems(changed)
    await this.#read(names.filter(name => !this.#values.isFresh(name)))
  }

  #withProblems (changed: readonly string[] | undefined): readonly string[] {
    if (changed === undefined) return this.#values.brokenNames(MAX_READ_AHEAD)
    return changed.map(key => keyToPath(key, this.prefix)).filter(name => this.#values.hasProblem(name)).slice(0, MAX_READ_AHEAD)
  }

  /** Reads every value in memory again, in case the store's message of a change got lost. */
  verifyValues (): Promise<void> {
    return this.#read(this.#values.names())
  }

  /**
   * Reads the values of the names that exist, a batch at a time. A failure is ignored: no render waits for these values, and a value that cannot be used
   * is noted as a problem of its key.
   */
  async #read (names: readonly string[]): Promise<void> {
    for (let start = 0; start < names.length; start += READ_BATCH) {
      const batch = names.slice(start, start + READ_BATCH).filter(name => this.index.has(name))
      if (batch.length > 0) await this.fetch(batch).catch(() => {})
    }
  }

  /** The problems of all shared variables that cannot be used as they are stored. */
  problems (): readonly EntryProblem[] {
    const shadowed = [...this.#shadowed].filter(name => this.#isShadowed(name))
    return [...this.#misnamed.values(), ...shadowed.map(name => noticed(pathToKey(name, this.prefix), VALUE_SHADOWED)), ...this.#values.problems()]
  }

  /** The figures of the cache of values. */
  statistics (): EnvironCacheStatistics {
    return this.#values.statistics()
  }

  /** The keys of all shared variables, as they are in the store. */
  * keys (): Generator<string> {
    for (const name of this.index) yield pathToKey(name, this.prefix)
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
    return this.#values.cached(name)
  }

  async fetch (names: readonly string[]): Promise<ReadonlyMap<string, EnvironValue>> {
    const values = await this.#values.fetch(names)
    for (const [name, { value }] of values) this.#judge(name, value)
    return values
  }

  /** Notes whether the value of a shared variable (`a`) is hidden because variables lie below its name (`a.b`). They hide every value that is no object. */
  #judge (name: string, value: Json): void {
    if (isObject(value) || !this.hasBelow(name)) this.#shadowed.delete(name)
    else if (this.#shadowed.size < MAX_PROBLEMS) this.#shadowed.add(name)
  }

  /** After a name (`a.b.c`) was added or removed: judges anew whether the values of `a.b` and `a` are hidden. Only values in memory are judged. */
  #judgeAbove (name: string): void {
    for (let dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1)) {
      const above = name.slice(0, dot)
      const known = this.#values.peek(above)
      if (known !== undefined) this.#judge(above, known.value)
    }
  }

  #isShadowed (name: string): boolean {
    return this.has(name) && this.hasBelow(name)
  }
}

const NAME_RESERVED: Diagnostic = {
  severity: 'warning',
  code: 'NAME_RESERVED',
  message: `no template finds it: ${[...RESERVED_NAMES].join(', ')} are names that every template has already`
}

const VALUE_SHADOWED: Diagnostic = { severity: 'warning', code: 'VALUE_SHADOWED', message: 'it is no object, and gives way to the keys below it' }

function noticed (key: string, diagnostic: Diagnostic): EntryProblem {
  return { key, diagnostics: [diagnostic], servesLastGood: false }
}

/**
 * Whether a template can name the shared variable of a key.
 * @param problems gets the key's problem when the name is impossible, or when templates give it another meaning; `undefined` for a deleted key
 */
function isWellNamed (key: string, prefix: string, problems: Map<string, EntryProblem> | undefined): boolean {
  const reason = misnaming(key.slice(prefix.length))
  if (problems === undefined) return reason === undefined
  const [diagnostic] = reason === undefined ? lintEnvironName(keyToPath(key, prefix)) : [{ severity: 'error', code: 'KEY_INVALID', message: reason } as const]
  if (diagnostic !== undefined && problems.size < MAX_PROBLEMS) problems.set(key, noticed(key, diagnostic))
  return reason === undefined
}

/** The warnings about the dotted name of a shared variable. */
function lintEnvironName (name: string): readonly Diagnostic[] {
  return RESERVED_NAMES.has(name.split('.', 1)[0] as string) ? [NAME_RESERVED] : []
}

function misnaming (name: string): string | undefined {
  const segments = name.split(':')
  if (segments.includes('')) return 'the key has an empty segment'
  if (name.includes('.')) return 'the key has a "." inside a segment, which no path can name'
  return segments.length > MAX_SEGMENTS ? `the key has more than ${MAX_SEGMENTS} segments` : undefined
}

/**
 * The kind of entries that are shared variables, stored under `shenma:environs:*`. A render needs only a few of thousands of them. So only names are
 * loaded at start, and a value is read when it is first used.
 */
export const environKind: Kind = {
  key: 'environs',
  name: 'environs',
  noun: 'shared variable',
  reading: 'lazy',
  access: 'environs',
  decode: decodeEnviron,
  normalise: value => value,
  async check ({ id, text }) {
    return [...lintEnvironName(id), ...decodeEnviron(text).diagnostics]
  }
}
