import { createSlices } from '../../runtime/event-loop.ts'
import type { Log } from '../../runtime/telemetry.ts'
import { isWithheld, kindPrefix, type StoredValue } from '../../store/store.ts'
import type { ToolReader } from '../../tool/tool-reader.ts'
import { describeDiagnostic } from '../diagnostic.ts'
import { type EntryProblem, EntryTable } from './entry-table.ts'
import type { CountedTemplateCache } from './template-cache.ts'
import { type Entry, type EntryKind, isDefinitionKind } from '../kinds/entry-kind.ts'
import { releaseKind } from '../kinds/release-kind.ts'

/** Of all kinds whose values are read at start, so not of shared variables. */
export class Entries {
  readonly tables: EntryTables
  readonly #prefixes: ReadonlyArray<readonly [EntryKind, string]>
  readonly #log: Log

  constructor ({ kinds, keyPrefix, cache, toolReader, log }: {
    readonly kinds: readonly EntryKind[]
    readonly keyPrefix: string
    readonly cache: CountedTemplateCache
    readonly toolReader: ToolReader
    readonly log: Log
  }) {
    this.#prefixes = kinds.map(kind => [kind, kindPrefix(keyPrefix, kind.key)])
    this.#log = log
    const definitionKinds = kinds.filter(isDefinitionKind)
    this.tables = new EntryTables(kinds, kind => new EntryTable(kind.parser({ prefix: kindPrefix(keyPrefix, kind.key), cache, toolReader, definitionKinds })))
  }

  get hasChanged (): boolean {
    return [...this.tables.all()].some(table => table.hasChanged)
  }

  kindOf (key: string): EntryKind | undefined {
    return this.#prefixes.find(([, prefix]) => key.startsWith(prefix))?.[0]
  }

  /** `isDoubtful`: perhaps outdated, its key changed while it was being read, for example. It is read again later. */
  async take (
    values: ReadonlyArray<readonly [key: string, value: StoredValue]>, isDoubtful: (key: string, value: StoredValue) => boolean
  ): Promise<void> {
    const slices = createSlices()
    for (const [key, value] of values) {
      const kind = this.kindOf(key)
      // An old ACL of Redis can withhold release records; the registry reports that once, not for each key.
      if (kind === undefined || isDoubtful(key, value) || (kind === releaseKind && isWithheld(value))) continue
      const table = this.tables.of(kind)
      if (await table.take(key, value, slices)) this.#logFaults(key, table)
      if (slices.isDue()) await slices.pause()
    }
  }

  problems (): EntryProblem[] {
    return [...this.tables.all()].flatMap(table => table.problems())
  }

  #logFaults (key: string, table: EntryTable<Entry>): void {
    const reasons = table.faults(key).filter(diagnostic => diagnostic.severity === 'error').map(describeDiagnostic)
    if (reasons.length > 0) this.#log.warn({ key, reasons, servesLastGood: table.problem(key)?.servesLastGood === true }, 'entry rejected')
  }
}

export class EntryTables {
  readonly #tables: ReadonlyMap<EntryKind, EntryTable<Entry>>

  constructor (kinds: readonly EntryKind[], create: <E extends Entry>(kind: EntryKind<E>) => EntryTable<E>) {
    this.#tables = new Map(kinds.map(kind => [kind, create(kind)]))
  }

  get kinds (): Iterable<EntryKind> {
    return this.#tables.keys()
  }

  of<E extends Entry> (kind: EntryKind<E>): EntryTable<E> {
    const table = this.#tables.get(kind)
    if (table === undefined) throw new Error(`no kind ${kind.key}`)
    // The constructor made the table for this kind, so its entries have this type.
    return table as EntryTable<E>
  }

  all (): Iterable<EntryTable<Entry>> {
    return this.#tables.values()
  }
}
