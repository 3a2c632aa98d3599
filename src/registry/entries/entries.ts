import { createSlices } from '../../runtime/event-loop.ts'
import type { Log } from '../../runtime/telemetry.ts'
import { isWithheld, kindPrefix, type StoredValue } from '../../store/store.ts'
import type { ToolReader } from '../../tool/tool-reader.ts'
import { describeDiagnostic } from '../diagnostic.ts'
import { type EntryProblem, EntryTable } from './entry-table.ts'
import type { CountedTemplateCache } from './template-cache.ts'
import { type Entry, type EntryKind, isDefinitionKind } from '../kinds/entry-kind.ts'
import { releaseKind } from '../kinds/release-kind.ts'

/** The parts and settings with which `Entries` parses entries. */
export interface EntriesOptions {
  readonly kinds: readonly EntryKind[]
  readonly keyPrefix: string
  readonly cache: CountedTemplateCache
  readonly toolReader: ToolReader
  readonly log: Log
}

/** Values that were read from the store. The tables take in those that are not doubtful. */
export interface ReadValues {
  readonly values: ReadonlyArray<readonly [key: string, value: StoredValue]>
  /** Whether the tables must skip a value that is perhaps outdated: for example, its key changed while it was being read. The key is read again later. */
  isDoubtful (key: string, value: StoredValue): boolean
}

/** The parsed entries of all kinds whose values are read at start (prompts, tools, … but not shared variables). */
export class Entries {
  readonly tables: EntryTables
  readonly #prefixes: ReadonlyArray<readonly [EntryKind, string]>
  readonly #log: EntriesOptions['log']

  constructor ({ kinds, keyPrefix, cache, toolReader, log }: EntriesOptions) {
    this.#prefixes = kinds.map(kind => [kind, kindPrefix(keyPrefix, kind.key)])
    this.#log = log
    const definitionKinds = kinds.filter(isDefinitionKind)
    this.tables = new EntryTables(kinds, kind => new EntryTable(kind.parser({ prefix: kindPrefix(keyPrefix, kind.key), cache, toolReader, definitionKinds })))
  }

  /** Whether a generation (an immutable snapshot of all entries) that is made now would differ from the last one. */
  get hasChanged (): boolean {
    return [...this.tables.all()].some(table => table.hasChanged)
  }

  /** The kind of a key; `undefined` for a key that belongs to no kind. */
  kindOf (key: string): EntryKind | undefined {
    return this.#prefixes.find(([, prefix]) => key.startsWith(prefix))?.[0]
  }

  /** Takes in values from the store: parses those that have changed, in slices, and logs those that are broken. */
  async take ({ values, isDoubtful }: ReadValues): Promise<void> {
    const slices = createSlices()
    for (const [key, value] of values) {
      const kind = this.kindOf(key)
      // An operator's old ACL of Redis does not let the service read the release records (the lists of a prompt's versions and labels). The registry
      // reports that once, not for each key.
      if (kind === undefined || isDoubtful(key, value) || (kind === releaseKind && isWithheld(value))) continue
      const table = this.tables.of(kind)
      if (await table.take(key, value, slices)) this.#logFaults(key, table)
      if (slices.isDue()) await slices.pause()
    }
  }

  /** The problems of all keys whose entry is not served as it is stored. */
  problems (): EntryProblem[] {
    return [...this.tables.all()].flatMap(table => table.problems())
  }

  #logFaults (key: string, table: EntryTable<Entry>): void {
    const reasons = table.faults(key).filter(diagnostic => diagnostic.severity === 'error').map(describeDiagnostic)
    if (reasons.length > 0) this.#log.warn({ key, reasons, servesLastGood: table.problem(key)?.servesLastGood === true }, 'entry rejected')
  }
}

/** The tables of entries, one for each kind whose values are read at start. */
export class EntryTables {
  readonly #tables: ReadonlyMap<EntryKind, EntryTable<Entry>>

  /** @param create makes the empty table of a kind */
  constructor (kinds: readonly EntryKind[], create: <E extends Entry>(kind: EntryKind<E>) => EntryTable<E>) {
    this.#tables = new Map(kinds.map(kind => [kind, create(kind)]))
  }

  get kinds (): Iterable<EntryKind> {
    return this.#tables.keys()
  }

  /** The table of a kind's entries. */
  of<E extends Entry> (kind: EntryKind<E>): EntryTable<E> {
    const table = this.#tables.get(kind)
    if (table === undefined) throw new Error(`no kind ${kind.key}`)
    // The cast is safe: the constructor has made the table for this kind, whose type parameter is that of the table's entries.
    return table as EntryTable<E>
  }

  all (): Iterable<EntryTable<Entry>> {
    return this.#tables.values()
  }
}
