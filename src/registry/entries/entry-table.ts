import { type StoredValue } from '../../store/store.ts'
import { type Diagnostic, reject, RejectedEntry, unreadable } from '../diagnostic.ts'
import { type Slices } from '../../runtime/event-loop.ts'

/** The problems of the entry under one key. */
export interface EntryProblem {
  readonly key: string
  readonly diagnostics: readonly Diagnostic[]
  /** Whether an earlier version of the entry, which this process has read before, is served in place of the stored one. */
  readonly servesLastGood: boolean
}

/** What the table remembers of one key: the last stored text, the entry that is served, and the problem. */
interface EntryRecord<T> {
  /** The last stored text, so that an unchanged value is not parsed again; `undefined` when the stored value could not be read as text. */
  readonly text: string | undefined
  readonly entry: T | undefined
  readonly problem: EntryProblem | undefined
}

/** The functions that parse the entries of one kind and tell whether an entry works. */
export interface EntryParser<T> {
  /** The name by which other entries refer to the entry under a key. */
  nameOf (key: string): string
  /** Parses an entry, in slices, because one entry can be very large. @throws RejectedEntry */
  parse (key: string, text: string, slices: Slices): Promise<T>
  /** Whether an entry is valid. An invalid entry is listed as invalid, and does not replace an earlier version that was valid. */
  isSound (entry: T): boolean
  /**
   * Whether any part of an entry works. When the next stored text of the entry is rejected, an entry that works in part stays served, and any other is
   * dropped.
   */
  isUsable (entry: T): boolean
  diagnostics (entry: T): readonly Diagnostic[]
}

/**
 * The parsed entries of one kind by key. When the stored text of an entry is broken, the table keeps the last good version of the entry
 * (docs/architecture.md, "One bad entry never hurts its neighbours").
 */
export class EntryTable<T> {
  readonly #parser: EntryParser<T>
  readonly #records = new Map<string, EntryRecord<T>>()
  /** The keys whose stored value is broken. */
  readonly #broken = new Set<string>()
  /** The keys whose served entry has changed since the last call of `takeChanged`. */
  #changed = new Set<string>()
  /** The problems by the names of entries; `undefined` until somebody asks for them. */
  #problemsByName: ReadonlyMap<string, EntryProblem> | undefined

  constructor (parser: EntryParser<T>) {
    this.#parser = parser
  }

  get size (): number {
    return this.#records.size
  }

  keys (): Iterable<string> {
    return this.#records.keys()
  }

  has (key: string): boolean {
    return this.#records.has(key)
  }

  /** The entry that is served for a key: the stored one or, when that is broken, the last good version; `undefined` when there is neither. */
  entry (key: string): T | undefined {
    return this.#records.get(key)?.entry
  }

  /** The keys whose served entry has changed since the last call. */
  takeChanged (): ReadonlySet<string> {
    const changed = this.#changed
    this.#changed = new Set()
    return changed
  }

  /** Whether the served entry of any key has changed since the last call of `takeChanged`. */
  get hasChanged (): boolean {
    return this.#changed.size > 0
  }

  /** The problem of the entry under a key, if it has one. */
  problem (key: string): EntryProblem | undefined {
    return this.#records.get(key)?.problem
  }

  /** The problem of the entry with a name, if it has one. */
  problemOf (name: string): EntryProblem | undefined {
    this.#problemsByName ??= new Map(this.problems().map(problem => [this.#parser.nameOf(problem.key), problem]))
    return this.#problemsByName.get(name)
  }

  problems (): EntryProblem[] {
    return [...this.#records.values()].flatMap(record => record.problem ?? [])
  }

  /** The keys whose stored value is broken, and of which nothing that works is served. */
  unusable (): string[] {
    return [...this.#broken].filter(key => {
      const entry = this.entry(key)
      return entry === undefined || !this.#parser.isUsable(entry)
    })
  }

  /** How many keys have a broken value in whose place an earlier version is served. */
  stale (): number {
    return [...this.#broken].filter(key => this.problem(key)?.servesLastGood).length
  }

  /** Why the stored value under a key is broken; empty when it is not. */
  faults (key: string): readonly Diagnostic[] {
    const record = this.#records.get(key)
    if (record?.problem !== undefined) return record.problem.diagnostics
    return record?.entry === undefined || this.#parser.isSound(record.entry) ? [] : this.#parser.diagnostics(record.entry)
  }

  /** Serves an entry in place of what is stored under a key, which is broken. */
  serve (key: string, entry: T): void {
    const problem = { key, diagnostics: this.faults(key), servesLastGood: true }
    this.#records.set(key, { text: this.#records.get(key)?.text, entry, problem })
    this.#changed.add(key)
    this.#problemsByName = undefined
  }

  /** Takes into the table the value that a caller has just read under a key. Calls must not overlap. @returns whether the table has changed */
  async take (key: string, stored: StoredValue, slices: Slices): Promise<boolean> {
    const before = this.#records.get(key)
    const isNew = await this.#put(key, stored, slices)
    const after = this.#records.get(key)
    if (after?.entry !== before?.entry) this.#changed.add(key)
    if (after?.problem !== before?.problem) this.#problemsByName = undefined
    if (after === undefined || (after.problem === undefined && after.entry !== undefined && this.#parser.isSound(after.entry))) this.#broken.delete(key)
    else this.#broken.add(key)
    return isNew
  }

  async #put (key: string, stored: StoredValue, slices: Slices): Promise<boolean> {
    if (stored.kind === 'missing') return this.#records.delete(key)
    const known = this.#records.get(key)
    if (stored.kind === 'text' && known?.text === stored.text) return false
    const next = await this.#parse(key, stored, known?.entry, slices)
    if (stored.kind === 'bad' && known !== undefined && known.text === undefined && sameProblem(known.problem, next.problem)) return false
    this.#records.set(key, next)
    return true
  }

  async #parse (key: string, stored: Exclude<StoredValue, { kind: 'missing' }>, held: T | undefined, slices: Slices): Promise<EntryRecord<T>> {
    const text = stored.kind === 'text' ? stored.text : undefined
    try {
      if (this.#parser.nameOf(key) === '') throw reject('KEY_INVALID', 'the key has no id after its kind')
      if (stored.kind === 'bad') throw unreadable(stored)
      const entry = await this.#parser.parse(key, stored.text, slices)
      if (this.#parser.isSound(entry) || held === undefined || !this.#parser.isSound(held)) return { text, entry, problem: undefined }
      return { text, entry: held, problem: { key, diagnostics: this.#parser.diagnostics(entry), servesLastGood: true } }
    } catch (error) {
      if (!(error instanceof RejectedEntry)) throw error
      const kept = held !== undefined && this.#parser.isUsable(held) ? held : undefined
      return { text, entry: kept, problem: { key, diagnostics: error.diagnostics, servesLastGood: kept !== undefined } }
    }
  }
}

function sameProblem (a: EntryProblem | undefined, b: EntryProblem | undefined): boolean {
  return JSON.stringify(a?.diagnostics) === JSON.stringify(b?.diagnostics)
}
