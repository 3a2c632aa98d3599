import { type Log } from '../../base/log.ts'
import { createSlices } from '../../runtime/slices.ts'
import { kindPrefix } from '../../store/keys.ts'
import { isWithheld, type StoredValue } from '../../store/store.ts'
import { type ToolReader } from '../../tool/definition/tool-reader.ts'
import { inWords } from '../diagnostic/diagnostic.ts'
import { type EntryKind, isDefinitionKind } from '../kinds/kind.ts'
import { releaseKind } from '../kinds/release/release-kind.ts'
import { type CountedTemplateCache } from '../entries/template-cache.ts'
import { EntryTable, type EntryProblem } from '../entries/entry-table.ts'
import { EntryTables } from './entry-tables.ts'

/** What entries are read with. */
export interface EntriesOptions {
  readonly kinds: readonly EntryKind[]
  readonly keyPrefix: string
  readonly cache: CountedTemplateCache
  readonly toolReader: ToolReader
  readonly log: Log
}

/** What was read of some keys, and may be taken in. */
export interface Findings {
  readonly values: ReadonlyArray<readonly [key: string, value: StoredValue]>
  /** Whether that is left out, because it is not certain: then the key is read again. */
  isDoubtful (key: string, value: StoredValue): boolean
}

/** The entries in force of all kinds that are read as a whole. */
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

  /** Whether a generation that is made now would have anything new in it. */
  get hasChanged (): boolean {
    return [...this.tables.all()].some(table => table.hasChanged)
  }

  /** The kind of a key; `undefined` for one that is no entry's. */
  kindOf (key: string): EntryKind | undefined {
    return this.#prefixes.find(([, prefix]) => key.startsWith(prefix))?.[0]
  }

  /** Parses those values that are not known yet, in slices; logs those that cannot be used. */
  async take ({ values, isDoubtful }: Findings): Promise<void> {
    const slices = createSlices()
    for (const [key, value] of values) {
      const kind = this.kindOf(key)
      // An ACL from before there were labels withholds all of their records, of which the registry tells once.
      if (kind === undefined || isDoubtful(key, value) || (kind === releaseKind && isWithheld(value))) continue
      const table = this.tables.of(kind)
      if (await table.take(key, value, slices)) this.#logProblem(table.problem(key))
      if (slices.isDue()) await slices.pause()
    }
  }

  /** Every key that is not in force as it is stored. */
  problems (): EntryProblem[] {
    return [...this.tables.all()].flatMap(table => table.problems())
  }

  #logProblem (problem: EntryProblem | undefined): void {
    if (problem === undefined) return
    const reasons = problem.diagnostics.filter(diagnostic => diagnostic.severity === 'error').map(inWords)
    this.#log.warn({ key: problem.key, reasons, servesLastGood: problem.servesLastGood }, 'entry rejected')
  }
}
