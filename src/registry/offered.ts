import type { Slices } from '../runtime/event-loop.ts'
import { type Definition, type DefinitionKind, isEntryKind, type Kind } from './kinds/entry-kind.ts'
import { isPromptPartial } from './link/link-prompts.ts'
import type { Extension, Generation, Prompt, Tool } from './generation.ts'

const NONE: ReadonlyMap<string, never> = new Map<string, never>()

export function definitionsOf<D extends Definition> ({ definitions }: Pick<Generation, 'definitions'>, kind: DefinitionKind<D>): ReadonlyMap<string, D> {
  // These were made by the parser of this kind.
  return (definitions.get(kind.key) ?? NONE) as ReadonlyMap<string, D>
}

/** Sorted by id. A prompt that another one includes is left out, unless its author has described it. */
export function runnablePrompts ({ prompts }: Pick<Generation, 'prompts'>): Prompt[] {
  const parts = new Set<string>()
  for (const { id, texts } of prompts.values()) {
    for (const link of texts.flatMap(({ links }) => links)) {
      if (link !== undefined && isPromptPartial(link) && link.prompt.entry.id !== id) parts.add(link.prompt.entry.id)
    }
  }
  return [...prompts.values()]
    .filter(({ id, state, entry }) => state === 'valid' && (!parts.has(id) || Object.hasOwn(entry.definition.source, 'description')))
    .sort((a, b) => a.id < b.id ? -1 : 1)
}

/** The kind must be one whose values are read at start. */
export function offeredOf ({ extensions, prompts, tools, releases, definitions }: Generation, kind: Kind): ReadonlyMap<string, unknown> {
  const linked = new Map<string, ReadonlyMap<string, unknown>>([['extensions', extensions], ['templates', prompts], ['tools', tools], ['releases', releases]])
  return linked.get(kind.key) ?? definitions.get(kind.key) ?? NONE
}

export interface RegistryChange {
  readonly kind: Kind
  readonly id: string
}

/** In slices, so that requests are served meanwhile. */
export async function changesBetween (before: Generation, after: Generation, kinds: readonly Kind[], slices: Slices): Promise<readonly RegistryChange[]> {
  const changes: RegistryChange[] = []
  for (const kind of before === after ? [] : kinds.filter(isEntryKind)) {
    const [old, now] = [offeredOf(before, kind), offeredOf(after, kind)]
    if (old === now) continue
    for (const id of [...now.keys(), ...[...old.keys()].filter(each => !now.has(each))]) {
      if (!isSame(kind, old.get(id), now.get(id))) changes.push({ kind, id })
      if (slices.isDue()) await slices.pause()
    }
  }
  return changes
}

/** Unchanged entries are the same object, except tools and extensions, which are compared by content. */
function isSame ({ key }: Kind, old: unknown, now: unknown): boolean {
  if (old === now) return true
  if (old === undefined || now === undefined) return false
  if (key === 'tools') return (old as Tool).definition.revision === (now as Tool).definition.revision
  if (key !== 'extensions') return false
  const [before, after] = [old as Extension, now as Extension]
  return before.definition === after.definition && before.state === after.state
}
