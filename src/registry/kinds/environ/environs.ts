import { keyToPath, pathToKey } from '../../../store/keys.ts'
import { type Store } from '../../../store/store.ts'
import { type EnvironSource, type EnvironValue } from '../../../template/run/environ-source.ts'
import { RESERVED_NAMES } from '../../../template/run/scope.ts'
import { type Json } from '../../../base/json.ts'
import { isObject } from '../../../template/value.ts'
import { type Diagnostic } from '../../diagnostic/diagnostic.ts'
import { type EntryProblem } from '../../entries/entry-table.ts'
import { EnvironIndex } from './environ-index.ts'
import { EnvironListing } from './environ-listing.ts'
import { type EnvironCacheStatistics, EnvironValues } from './environ-values.ts'

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

export interface EnvironsOptions {
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
export function lintEnvironName (name: string): readonly Diagnostic[] {
  return RESERVED_NAMES.has(name.split('.', 1)[0] as string) ? [NAME_RESERVED] : []
}

function misnaming (name: string): string | undefined {
  const segments = name.split(':')
  if (segments.includes('')) return 'the key has an empty segment'
  if (name.includes('.')) return 'the key has a "." inside a segment, which no path can name'
  return segments.length > MAX_SEGMENTS ? `the key has more than ${MAX_SEGMENTS} segments` : undefined
}
