import { type Slices } from '../../runtime/slices.ts'
import { type EntryTables } from '../generation/entry-tables.ts'
import { type Definitions } from '../generation/generation.ts'
import { type DefinitionKind } from '../kinds/kind.ts'
import { type Definition } from '../kinds/definition.ts'
import { isOffered } from '../kinds/extension/dependences.ts'
import { extensionKind } from '../kinds/extension/extension-kind.ts'
import { Claims } from './claims.ts'
import { type ContestedKind } from './key-conflicts.ts'

/**
 * Chooses the definitions (agents, skills, plan profiles) of each generation. Where two have one id, a definition with a key of its own comes before
 * one that an extension brings.
 */
export class DefinitionLinker {
  readonly #tables: EntryTables
  readonly #claims: ReadonlyMap<DefinitionKind, Claims<Definition>>

  constructor (tables: EntryTables, kinds: readonly DefinitionKind[]) {
    this.#tables = tables
    this.#claims = new Map(kinds.map(kind => [kind, new Claims()]))
  }

  get contested (): ContestedKind[] {
    return [...this.#claims].map(([{ name, noun }, claims]) => ({ claims, words: { name, noun, direct: noun } }))
  }

  /**
   * The definitions of the next generation, after changes.
   * @param changed the changed keys, by the key of their kind
   * @param last the definitions of the last generation
   * @returns the definitions, and whether extensions must be described anew
   */
  async next (
    changed: ReadonlyMap<string, ReadonlySet<string>>,
    last: Definitions,
    slices: Slices
  ): Promise<{ readonly definitions: Definitions, readonly contested: boolean }> {
    const definitions = new Map(last)
    let contested = false
    for (const [kind, claims] of this.#claims) {
      const ids = new Set<string>()
      const take = (key: string, offers: readonly Definition[]): void => {
        for (const id of claims.offeredBy(key)) ids.add(id)
        for (const { id } of offers) ids.add(id)
        contested = claims.set(key, offers) || contested
      }
      for (const key of changed.get(kind.key) ?? []) {
        const entry = this.#tables.of(kind).entry(key)
        take(key, entry === undefined ? [] : [entry])
        if (slices.isDue()) await slices.pause()
      }
      for (const key of changed.get(extensionKind.key) ?? []) {
        const entry = this.#tables.of(extensionKind).entry(key)
        take(key, entry === undefined || !isOffered(entry.definition) ? [] : entry.definitions.get(kind.key) ?? [])
        if (slices.isDue()) await slices.pause()
      }
      if (ids.size > 0) definitions.set(kind.key, withCurrent(last.get(kind.key), ids, claims))
    }
    return { definitions, contested }
  }
}

function withCurrent (
  last: ReadonlyMap<string, Definition> | undefined,
  ids: ReadonlySet<string>,
  claims: Claims<Definition>
): ReadonlyMap<string, Definition> {
  const next = new Map(last)
  for (const id of ids) {
    const definition = claims.get(id)
    if (definition === undefined) next.delete(id)
    else next.set(id, definition)
  }
  return next
}
