import { createSlices, type Slices } from '../runtime/event-loop.ts'
import { type Definition, type DefinitionKind, isEntryKind, type Kind } from './kinds/entry-kind.ts'
import { type PromptEntry, promptKind } from './kinds/prompt-kind.ts'
import { releaseKind } from './kinds/release-kind.ts'
import { isPromptPartial } from './link/link-prompts.ts'
import type { PromptNames } from './link/versions.ts'
import type { Extension, Generation, Prompt, Tool } from './generation.ts'

const NONE: ReadonlyMap<string, never> = new Map<string, never>()

export function definitionsOf<D extends Definition> ({ definitions }: Pick<Generation, 'definitions'>, kind: DefinitionKind<D>): ReadonlyMap<string, D> {
  // These were made by the parser of this kind.
  return (definitions.get(kind.key) ?? NONE) as ReadonlyMap<string, D>
}

/** Sorted by id. A prompt that another one includes is left out, unless its author has described it. In slices, since all are linked. */
export async function runnablePrompts ({ prompts }: Pick<Generation, 'prompts'>): Promise<Prompt[]> {
  const slices = createSlices()
  const parts = new Set<string>()
  for (const { id, texts } of prompts.values()) {
    for (const link of texts.flatMap(({ links }) => links)) {
      if (link !== undefined && isPromptPartial(link) && link.prompt.entry.id !== id) parts.add(link.prompt.entry.id)
    }
    if (slices.isDue()) await slices.pause()
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
  const { prompts, releases } = before.prompts === after.prompts ? NONE_RELINKED : await relinkedBetween(before, after, slices)
  for (const kind of before === after ? [] : kinds.filter(isEntryKind)) {
    const [old, now] = [sourcesOf(before, kind), sourcesOf(after, kind)]
    const relinked = kind === promptKind ? prompts : kind === releaseKind ? releases : NO_IDS
    if (old === now && relinked.size === 0) continue
    for (const id of [...now.keys(), ...[...old.keys()].filter(each => !now.has(each))]) {
      if (relinked.has(id) || !isSame(kind, old.get(id), now.get(id))) changes.push({ kind, id })
      if (slices.isDue()) await slices.pause()
    }
  }
  return changes
}

const NO_IDS: ReadonlySet<string> = new Set()
const NONE_RELINKED = { prompts: NO_IDS, releases: NO_IDS }

/** Prompts are not linked to be compared. */
function sourcesOf (generation: Generation, kind: Kind): ReadonlyMap<string, unknown> {
  if (kind === promptKind) return generation.names.owners
  return kind === releaseKind ? generation.names.labelled : offeredOf(generation, kind)
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

/** In which a name now means something else, directly or in what they include: prompts without a label, and those that have labels. */
async function relinkedBetween (before: Generation, after: Generation, slices: Slices) {
  const { owners, labelled, pinned } = after.names
  const changedOwners = differing(before.names.owners, owners)
  const changedRecords = differing(before.names.labelled, labelled)
  const latest = new Set([
    ...changedOwners,
    ...differing(before.names.pinned, pinned),
    ...differing(before.functions, after.functions).map(name => `tool ${name}`),
    ...changedRecords.flatMap(id => [...labelled.get(id)?.labels.keys() ?? []].map(label => `${id}@${label}`))
  ])
  // Whatever is new without a label is new under labels, too.
  const underLabels = new Set([...latest, ...changedRecords])
  for (let size = -1; size < latest.size + underLabels.size;) {
    size = latest.size + underLabels.size
    for (const [name, entries, id] of places(after.names)) {
      if (slices.isDue()) await slices.pause()
      if (!usesAny(entries, underLabels)) continue
      underLabels.add(name).add(id)
      if (usesAny(entries, latest)) latest.add(name)
    }
  }
  const releases = [...labelled].filter(([id, { labels }]) => [...labels.keys()].some(label => underLabels.has(`${id}@${label}`)))
  return { prompts: latest, releases: new Set([...changedOwners, ...releases.map(([id]) => id)]) }
}

function differing<T> (old: ReadonlyMap<string, T>, now: ReadonlyMap<string, T>): string[] {
  const keys: string[] = []
  if (old === now) return keys
  for (const [key, value] of now) if (old.get(key) !== value) keys.push(key)
  for (const key of old.keys()) if (!now.has(key)) keys.push(key)
  return keys
}

/** Loops, since it looks at every name of the registry. */
function usesAny (entries: readonly Named[], names: ReadonlySet<string>): boolean {
  for (const { entry } of entries) for (const name of entry.names) if (names.has(name)) return true
  return false
}

interface Named { readonly entry: PromptEntry }

/** Wherever a name leads to an entry; under a label, users include it by `id`. */
function * places ({ owners, labelled, pinned }: PromptNames): Generator<readonly [name: string, entries: readonly Named[], id: string]> {
  for (const all of [owners, pinned]) for (const [id, entry] of all) yield [id, [{ entry }], id]
  for (const [id, { labels }] of labelled) for (const [label, shares] of labels) yield [`${id}@${label}`, shares, id]
}
