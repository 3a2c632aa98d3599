import { createHash } from 'node:crypto'
import { type StoredValue } from '../../store/store.ts'
import { type Diagnostic, reject, RejectedEntry, unreadable } from '../diagnostic.ts'
import { type Slices } from '../../runtime/event-loop.ts'

export interface EntryProblem {
  readonly key: string
  readonly diagnostics: readonly Diagnostic[]
  readonly servesLastGood: boolean
}

interface EntryRecord<T> {
  /** So that an unchanged value is not parsed again; `undefined` for a value that is no text. */
  readonly text: string | undefined
  readonly entry: T | undefined
  readonly problem: EntryProblem | undefined
  /** What is stored, but is not served since it has mistakes. */
  readonly broken?: T
}

export interface EntryParser<T> {
  nameOf (key: string): string
  /** In slices, because one entry can be very large. @throws RejectedEntry */
  parse (key: string, text: string, slices: Slices): Promise<T>
  /** An invalid entry does not replace an earlier version that was valid. */
  isSound (entry: T): boolean
  /** If so, the entry stays served when its next stored text is rejected; otherwise it is dropped. */
  isUsable (entry: T): boolean
  diagnostics (entry: T): readonly Diagnostic[]
}

/** Modulo 2^256. */
const MASK = (1n << 256n) - 1n

/** Keeps the last good version of a broken entry (docs/architecture.md, "One bad entry never hurts its neighbours"). */
export class EntryTable<T extends { readonly hash: string }> {
  readonly #parser: EntryParser<T>
  readonly #records = new Map<string, EntryRecord<T>>()
  readonly #broken = new Set<string>()
  #hasChanged = false
  /** A sum of hashes: order and history do not count, and a change costs the same for any size (https://people.csail.mit.edu/devadas/pubs/mhashes.pdf). */
  #sum = 0n
  /** The map is `undefined` until somebody asks for it. */
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

  entry (key: string): T | undefined {
    return this.#records.get(key)?.entry
  }

  /** What is stored in place of an earlier version that is served; `undefined` also where it cannot be read at all. */
  broken (key: string): T | undefined {
    return this.#records.get(key)?.broken
  }

  * entries (): Generator<readonly [key: string, entry: T]> {
    for (const [key, { entry }] of this.#records) if (entry !== undefined) yield [key, entry]
  }

  get hasChanged (): boolean {
    return this.#hasChanged
  }

  /** Returns whether an entry has changed since the last call. */
  takeChanged (): boolean {
    const hasChanged = this.#hasChanged
    this.#hasChanged = false
    return hasChanged
  }

  /** 12 characters that need no escaping. */
  revision (): string {
    return createHash('sha256').update(this.#sum.toString(16)).digest('base64url').slice(0, 12)
  }

  problem (key: string): EntryProblem | undefined {
    return this.#records.get(key)?.problem
  }

  problemOf (name: string): EntryProblem | undefined {
    this.#problemsByName ??= new Map(this.problems().map(problem => [this.#parser.nameOf(problem.key), problem]))
    return this.#problemsByName.get(name)
  }

  problems (): EntryProblem[] {
    return [...this.#records.values()].flatMap(record => record.problem ?? [])
  }

  unusable (): string[] {
    return [...this.#broken].filter(key => {
      const entry = this.entry(key)
      return entry === undefined || !this.#parser.isUsable(entry)
    })
  }

  stale (): number {
    return [...this.#broken].filter(key => this.problem(key)?.servesLastGood).length
  }

  faults (key: string): readonly Diagnostic[] {
    const record = this.#records.get(key)
    if (record?.problem !== undefined) return record.problem.diagnostics
    return record?.entry === undefined || this.#parser.isSound(record.entry) ? [] : this.#parser.diagnostics(record.entry)
  }

  serve (key: string, entry: T): void {
    const problem = { key, diagnostics: this.faults(key), servesLastGood: true }
    const before = this.#records.get(key)
    this.#records.set(key, { text: before?.text, entry, problem, broken: before?.entry })
    this.#count(key, before?.entry, entry)
    this.#problemsByName = undefined
  }

  /** Calls must not overlap. Returns whether the table has changed. */
  async take (key: string, stored: StoredValue, slices: Slices): Promise<boolean> {
    const before = this.#records.get(key)
    const isNew = await this.#put(key, stored, slices)
    const after = this.#records.get(key)
    this.#count(key, before?.entry, after?.entry)
    if (after?.problem !== before?.problem) this.#problemsByName = undefined
    if (after === undefined || (after.problem === undefined && after.entry !== undefined && this.#parser.isSound(after.entry))) this.#broken.delete(key)
    else this.#broken.add(key)
    return isNew
  }

  #count (key: string, before: T | undefined, after: T | undefined): void {
    if (before === after) return
    this.#hasChanged = true
    this.#sum = (this.#sum - hashOf(key, before) + hashOf(key, after)) & MASK
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
      return { text, entry: held, problem: { key, diagnostics: this.#parser.diagnostics(entry), servesLastGood: true }, broken: entry }
    } catch (error) {
      if (!(error instanceof RejectedEntry)) throw error
      const kept = held !== undefined && this.#parser.isUsable(held) ? held : undefined
      return { text, entry: kept, problem: { key, diagnostics: error.diagnostics, servesLastGood: kept !== undefined } }
    }
  }
}

function hashOf (key: string, entry: { readonly hash: string } | undefined): bigint {
  return entry === undefined ? 0n : BigInt(`0x${createHash('sha256').update(JSON.stringify([key, entry.hash])).digest('hex')}`)
}

function sameProblem (a: EntryProblem | undefined, b: EntryProblem | undefined): boolean {
  return JSON.stringify(a?.diagnostics) === JSON.stringify(b?.diagnostics)
}
