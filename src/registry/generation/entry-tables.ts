import { type Entry, type EntryKind } from '../kinds/kind.ts'
import { type EntryTable } from '../entries/entry-table.ts'

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
