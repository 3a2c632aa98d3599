import { type StoredValue } from '../store/store.ts'
import { type Diagnostic, RejectedEntry, reject } from './diagnostic.ts'

/** What is wrong with one key. */
export interface EntryProblem {
  readonly key: string
  readonly diagnostics: readonly Diagnostic[]
  /** An earlier version that this process had is served in its place. */
  readonly servesLastGood: boolean
}

interface EntryRecord<T> {
  /** The last stored text, so that an unchanged value is not parsed again. */
  readonly text: string | undefined
  readonly entry: T | undefined
  readonly problem: EntryProblem | undefined
}

/** How the entries of one kind are read. */
export interface EntryParser<T> {
  /** @throws RejectedEntry */
  parse (key: string, text: string): T
  /** False for an entry that is listed as invalid: it does not replace a version that works. */
  isSound (entry: T): boolean
  diagnostics (entry: T): readonly Diagnostic[]
}

/** The entries of one kind by key, with the last good version of each (architecture.md, "One bad entry never hurts its neighbours"). */
export class EntryTable<T> {
  readonly #parser: EntryParser<T>
  readonly #records = new Map<string, EntryRecord<T>>()

  constructor (parser: EntryParser<T>) {
    this.#parser = parser
  }

  get size (): number {
    return this.#records.size
  }

  keys (): Iterable<string> {
    return this.#records.keys()
  }

  /** Entries in force, sorted by key, so that whatever depends on order is the same on every replica. */
  entries (): Array<readonly [key: string, entry: T]> {
    const present = [...this.#records].flatMap(([key, record]) => record.entry === undefined ? [] : [[key, record.entry] as const])
    return present.sort(([a], [b]) => a < b ? -1 : 1)
  }

  /** What is wrong with that key, if anything. */
  problem (key: string): EntryProblem | undefined {
    return this.#records.get(key)?.problem
  }

  problems (): EntryProblem[] {
    return [...this.#records.values()].flatMap(record => record.problem ?? [])
  }

  /** Forgets every key that is not in `keys`. Gives whether anything changed. */
  retain (keys: ReadonlySet<string>): boolean {
    const before = this.#records.size
    for (const key of this.#records.keys()) if (!keys.has(key)) this.#records.delete(key)
    return this.#records.size !== before
  }

  /** Takes what is stored under a key now. Gives whether anything changed. */
  take (key: string, stored: StoredValue): boolean {
    if (stored.kind === 'missing') return this.#records.delete(key)
    const known = this.#records.get(key)
    if (stored.kind === 'text' && known?.text === stored.text) return false
    const next = this.#parse(key, stored, known?.entry)
    if (stored.kind === 'bad' && known !== undefined && known.text === undefined && sameProblem(known.problem, next.problem)) return false
    this.#records.set(key, next)
    return true
  }

  #parse (key: string, stored: Exclude<StoredValue, { kind: 'missing' }>, lastGood: T | undefined): EntryRecord<T> {
    const text = stored.kind === 'text' ? stored.text : undefined
    try {
      if (stored.kind === 'bad') throw reject('VALUE_INVALID', stored.reason)
      const entry = this.#parser.parse(key, stored.text)
      if (this.#parser.isSound(entry) || lastGood === undefined || !this.#parser.isSound(lastGood)) return { text, entry, problem: undefined }
      return { text, entry: lastGood, problem: { key, diagnostics: this.#parser.diagnostics(entry), servesLastGood: true } }
    } catch (error) {
      if (!(error instanceof RejectedEntry)) throw error
      return { text, entry: lastGood, problem: { key, diagnostics: error.diagnostics, servesLastGood: lastGood !== undefined } }
    }
  }
}

function sameProblem (a: EntryProblem | undefined, b: EntryProblem | undefined): boolean {
  return JSON.stringify(a?.diagnostics) === JSON.stringify(b?.diagnostics)
}
