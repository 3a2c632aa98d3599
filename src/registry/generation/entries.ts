import { type Log } from '../../base/log.ts'
import { createSlices } from '../../runtime/slices.ts'
import { kindPrefix } from '../../store/keys.ts'
import { isWithheld, type StoredValue } from '../../store/store.ts'
import { type ToolReader } from '../../tool/definition/tool-reader.ts'
import { inWords } from '../diagnostic/diagnostic.ts'
import { type Entry, type EntryKind, isDefinitionKind } from '../kinds/kind.ts'
import { releaseKind } from '../kinds/release/release-kind.ts'
import { type CountedTemplateCache } from '../entries/template-cache.ts'
import { EntryTable, type EntryProblem } from '../entries/entry-table.ts'
import { EntryTables } from './entry-tables.ts'

/** The parts and settings with which `Entries` parses entries. */
export interface EntriesOptions {
  readonly kinds: readonly EntryKind[]
  readonly keyPrefix: string
  readonly cache: CountedTemplateCache
  readonly toolReader: ToolReader
  readonly log: Log
}

/** Values that were read from the store. The tables take in those that are not doubtful. */
export interface Findings {
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
  async take ({ values, isDoubtful }: Findings): Promise<void> {
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
    const reasons = table.faults(key).filter(diagnostic => diagnostic.severity === 'error').map(inWords)
    if (reasons.length > 0) this.#log.warn({ key, reasons, servesLastGood: table.problem(key)?.servesLastGood === true }, 'entry rejected')
  }
}
