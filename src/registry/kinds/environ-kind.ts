import { LRUCache } from 'lru-cache'
import { environInvalid, storeUnavailable } from '../../base/errors.ts'
import { isJsonObject, type Json } from '../../base/json.ts'
import { keyToPath, pathToKey, type Store, type StoredValue, StoreError } from '../../store/store.ts'
import type { EnvironSource, EnvironValue } from '../../template/run.ts'
import { RESERVED_NAMES } from '../../template/scope.ts'
import { type Diagnostic, describeDiagnostic, RejectedEntry, unreadable } from '../diagnostic.ts'
import type { EntryProblem } from '../entries/entry-table.ts'
import { decodeEnviron, type Kind } from './entry-kind.ts'
import { EnvironIndex, EnvironListing } from './environ-names.ts'

/** In ms, while the store does not push changes. */
const FRESH_MILLISECONDS = 5000

/** In ms, before a render takes the older value in memory; a slow Redis can need seconds. */
const PATIENCE_MILLISECONDS = 100

/** In bytes, beside text and name, so that the number of tiny values has a bound, too. */
const ENTRY_BYTES = 128

/** Kept when no longer fresh, to be served when the store cannot be asked. */
interface CachedValue extends EnvironValue {
  /** Fresh only while the cache is in this epoch: `expireAll` begins a new one. */
  readonly epoch: number
  readonly freshUntil: number
  readonly endsAt: number
}

interface EnvironValuesOptions {
  readonly store: Store
  readonly prefix: string
  /** In bytes: texts, names and `ENTRY_BYTES` for each; the least recently used are dropped. */
  readonly limit: number
  readonly now: () => number
  readonly isListed: (name: string) => boolean
  readonly onExpired: (name: string) => void
}

/** Fresh until the store reports a change or the time to live ends; 5 s without pushes. In an outage the last value is served, however old. */
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

  cached (name: string): EnvironValue | undefined {
    const known = this.#values.get(name)
    if (known !== undefined && this.#isFresh(known)) {
      this.#hits++
      return known
    }
    this.#misses++
    return undefined
  }

  /** The call counts neither as a use of the value nor as a hit. */
  peek (name: string): EnvironValue | undefined {
    return this.#values.peek(name)
  }

  isFresh (name: string): boolean {
    const known = this.#values.peek(name)
    return known !== undefined && this.#isFresh(known)
  }

  isKnown (name: string): boolean {
    return this.#values.has(name)
  }

  names (): string[] {
    return [...this.#values.rkeys()]
  }

  /** The old values stay in memory in case the new ones cannot be used. */
  expire (names: Iterable<string>): void {
    for (const name of names) {
      this.#reading.delete(name)
      const known = this.#values.peek(name)
      if (known !== undefined) this.#keep(name, { ...known, freshUntil: 0 })
    }
  }

  expireAll (): void {
    this.#epoch++
    this.#reading.clear()
  }

  forget (names: Iterable<string>): void {
    for (const name of names) {
      this.#values.delete(name)
      this.#problems.delete(name)
    }
  }

  forgetUnlisted (): void {
    this.forget([...this.#values.keys(), ...this.#problems.keys()].filter(name => !this.#options.isListed(name)))
  }

  hasProblem (name: string): boolean {
    return this.#problems.has(name)
  }

  /** At most `limit`, the value that was read longest ago first. */
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

  statistics () {
    return { hits: this.#hits, misses: this.#misses, entries: this.#values.size, bytes: this.#values.calculatedSize }
  }

  /** One round trip for names that no other render is reading. A slow store's older value in memory is given, and the read goes on. */
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
    // Most of the tens of values have no time to live, so the clock need not be read.
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
      // A render that has ended awaits it no longer: the rejection would be unhandled.
      value.catch(() => {})
    }
  }

  /** Not `isCurrent`: the key changed meanwhile; the value is given to waiting renders, and replaces none in memory. */
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
      // The value in memory is perhaps newer than the store's answer.
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

  /** Deleted a moment ago, or lost by the store: the last value is served until the next listing decides, unless its time to live is over. */
  #doubt (name: string, isCurrent: boolean): EnvironValue | undefined {
    const lastGood = this.#values.peek(name)
    if (lastGood === undefined || !this.#options.isListed(name)) return undefined
    // The key perhaps exists again.
    if (!isCurrent) return lastGood
    if (lastGood.endsAt > this.#options.now()) return this.#prolong(name, lastGood, this.#options.now() + FRESH_MILLISECONDS)
    this.forget([name])
    this.#options.onExpired(name)
    return undefined
  }

  /** However old it is. @throws STORE_UNAVAILABLE when there is none */
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

/** Bounds code that recurses over the tree of names. */
const MAX_SEGMENTS = 32

const MAX_PROBLEMS = 1000

const MAX_READ_AHEAD = 1000

const READ_BATCH = 250

/** In bytes, by default. */
const DEFAULT_LIMIT = 64 * 1024 * 1024

/** Every name, and the values that renders have needed; a change of the names is visible at once. */
export class Environs implements EnvironSource {
  readonly index = new EnvironIndex()
  readonly #store: Store
  readonly prefix: string
  readonly #values: EnvironValues
  #misnamed = new Map<string, EntryProblem>()
  /** Values that are no object although keys lie below the name, which hide them. */
  readonly #shadowed = new Set<string>()

  constructor ({ store, prefix, limit = DEFAULT_LIMIT, now = () => performance.now() }: {
    readonly store: Store
    readonly prefix: string
    /** In bytes: stored texts, names and a fixed amount for each. @default 64 MiB */
    readonly limit?: number
    /** In ms. @default that of `performance.now()` */
    readonly now?: () => number
  }) {
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

  beginListing (): EnvironListing {
    const misnamed = new Map<string, EntryProblem>()
    return new EnvironListing(this.index, this.#store, this.prefix, key => isWellNamed(key, this.prefix, misnamed), () => {
      this.#misnamed = misnamed
      this.#values.forgetUnlisted()
      for (const name of this.#shadowed) if (!this.#isShadowed(name)) this.#shadowed.delete(name)
    })
  }

  /** The values of deleted keys are forgotten. */
  applyKeys (changes: ReadonlyArray<readonly [key: string, exists: boolean]>): void {
    for (const [key, exists] of changes) if (!exists) this.#misnamed.delete(key)
    // As a path it would look like another key (`a.b` like `a:b`), which has not changed.
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

  /** The old values stay in memory in case the new ones cannot be used. */
  expireKeys (keys: readonly string[]): void {
    this.#values.expire(keys.map(key => keyToPath(key, this.prefix)))
  }

  expireAll (): void {
    this.#values.expireAll()
  }

  /** So a bad value is noted before a render meets it. Of too many names, only those with a known problem are read. */
  async readAhead (changed?: readonly string[]): Promise<void> {
    const names = this.index.size <= MAX_READ_AHEAD ? [...this.index] : this.#withProblems(changed)
    await this.#read(names.filter(name => !this.#values.isFresh(name)))
  }

  #withProblems (changed: readonly string[] | undefined): readonly string[] {
    if (changed === undefined) return this.#values.brokenNames(MAX_READ_AHEAD)
    return changed.map(key => keyToPath(key, this.prefix)).filter(name => this.#values.hasProblem(name)).slice(0, MAX_READ_AHEAD)
  }

  /** The store's message of a change can get lost. */
  verifyValues (): Promise<void> {
    return this.#read(this.#values.names())
  }

  /** Failures are ignored: no render waits, and a bad value is noted as a problem of its key. */
  async #read (names: readonly string[]): Promise<void> {
    for (let start = 0; start < names.length; start += READ_BATCH) {
      const batch = names.slice(start, start + READ_BATCH).filter(name => this.index.has(name))
      if (batch.length > 0) await this.fetch(batch).catch(() => {})
    }
  }

  problems (): readonly EntryProblem[] {
    const shadowed = [...this.#shadowed].filter(name => this.#isShadowed(name))
    return [...this.#misnamed.values(), ...shadowed.map(name => noticed(pathToKey(name, this.prefix), VALUE_SHADOWED)), ...this.#values.problems()]
  }

  statistics () {
    return this.#values.statistics()
  }

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

  /** Variables below a name (`a.b`) hide its value (`a`) when that is no object. */
  #judge (name: string, value: Json): void {
    if (isJsonObject(value) || !this.hasBelow(name)) this.#shadowed.delete(name)
    else if (this.#shadowed.size < MAX_PROBLEMS) this.#shadowed.add(name)
  }

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

function isWellNamed (key: string, prefix: string, problems: Map<string, EntryProblem> | undefined): boolean {
  const reason = misnaming(key.slice(prefix.length))
  if (problems === undefined) return reason === undefined
  const [diagnostic] = reason === undefined ? lintEnvironName(keyToPath(key, prefix)) : [{ severity: 'error', code: 'KEY_INVALID', message: reason } as const]
  if (diagnostic !== undefined && problems.size < MAX_PROBLEMS) problems.set(key, noticed(key, diagnostic))
  return reason === undefined
}

function lintEnvironName (name: string): readonly Diagnostic[] {
  return RESERVED_NAMES.has(name.split('.', 1)[0] as string) ? [NAME_RESERVED] : []
}

function misnaming (name: string): string | undefined {
  const segments = name.split(':')
  if (segments.includes('')) return 'the key has an empty segment'
  if (name.includes('.')) return 'the key has a "." inside a segment, which no path can name'
  return segments.length > MAX_SEGMENTS ? `the key has more than ${MAX_SEGMENTS} segments` : undefined
}

/** Stored under `shenma:environs:*`. Only names are loaded at start: a render needs few of thousands of values. */
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
