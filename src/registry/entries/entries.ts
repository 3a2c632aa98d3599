import { kindPrefix } from '../../store/keys.ts'
import { type StoredValue } from '../../store/store.ts'
import { type Operator } from '../../tool/operator.ts'
import { type Tables } from '../link/build-generation.ts'
import { inWords } from '../diagnose/diagnostic.ts'
import { EntryTable, type EntryProblem } from './entry-table.ts'
import { extensionParser } from '../kinds/extension/extension-entry.ts'
import { createSlices } from '../../runtime/slices.ts'
import { ENTRY_KINDS, type EntryKind } from '../sync/store-snapshot.ts'
import { type CountedTemplateCache } from '../kinds/prompt/template-cache.ts'
import { templateParser } from '../kinds/prompt/template-entry.ts'
import { toolParser } from '../kinds/tool/tool-entry.ts'

/** What entries are read with. */
export interface EntriesOptions {
  readonly keyPrefix: string
  readonly cache: CountedTemplateCache
  readonly operator: Operator
  readonly log: { warn (details: object, message: string): void }
}

/** What was read of some keys, and may be taken in. */
export interface Findings {
  readonly values: ReadonlyArray<readonly [key: string, value: StoredValue]>
  /** Whether that is left out, because it is not certain: then the key is read again. */
  isDoubtful (key: string, value: StoredValue): boolean
}

/** The entries in force: extensions, templates and tools, which are read as a whole. Shared variables are not among them. */
export class Entries {
  readonly tables: Tables
  readonly #prefixes: ReadonlyArray<readonly [EntryKind, string]>
  readonly #log: EntriesOptions['log']

  constructor ({ keyPrefix, cache, operator, log }: EntriesOptions) {
    this.#prefixes = ENTRY_KINDS.map(kind => [kind, kindPrefix(keyPrefix, kind)] as const)
    this.#log = log
    this.tables = {
      extensions: new EntryTable(extensionParser(kindPrefix(keyPrefix, 'extensions'), cache)),
      templates: new EntryTable(templateParser(kindPrefix(keyPrefix, 'templates'), cache)),
      tools: new EntryTable(toolParser(kindPrefix(keyPrefix, 'tools'), operator))
    }
  }

  /** Whether a generation that is made now would have anything new in it. */
  get hasChanged (): boolean {
    return ENTRY_KINDS.some(kind => this.tables[kind].hasChanged)
  }

  /** The kind of a key; `undefined` for one that is no entry's. */
  kindOf (key: string): EntryKind | undefined {
    return this.#prefixes.find(([, prefix]) => key.startsWith(prefix))?.[0]
  }

  /** Parses those values that are not known yet, in slices; tells the log of those that cannot be used. */
  async take ({ values, isDoubtful }: Findings): Promise<void> {
    const slices = createSlices()
    for (const [key, value] of values) {
      const kind = this.kindOf(key)
      if (kind === undefined || isDoubtful(key, value)) continue
      const table = this.tables[kind]
      if (await table.take(key, value, slices)) this.#logProblem(table.problem(key))
      if (slices.isDue()) await slices.pause()
    }
  }

  /** Every key that is not in force as it is stored. */
  problems (): EntryProblem[] {
    const { extensions, templates, tools } = this.tables
    return [...extensions.problems(), ...templates.problems(), ...tools.problems()]
  }

  #logProblem (problem: EntryProblem | undefined): void {
    if (problem === undefined) return
    const reasons = problem.diagnostics.filter(diagnostic => diagnostic.severity === 'error').map(inWords)
    this.#log.warn({ key: problem.key, reasons, servesLastGood: problem.servesLastGood }, 'entry rejected')
  }
}
