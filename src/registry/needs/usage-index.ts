import { type Generation, type Prompt } from '../generation.ts'
import { everyPath, firstSegment, overlaps } from './variable-paths.ts'
import { isPromptPartial, type PartialText } from '../link/link-prompts.ts'
import { idsMeant, isPartial } from '../link/references.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import { type Link } from '../../template/language.ts'

/** Of one generation, by each prompt's own text; pinned versions (`id@7`) count, too. Paths are grouped by their first segment. */
export interface UsageIndex {
  readonly tools: ReadonlyMap<string, ReadonlySet<string>>
  readonly prompts: ReadonlyMap<string, ReadonlySet<string>>
  readonly hopeful: ReadonlyMap<string, ReadonlySet<string>>
  readonly paths: ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>
}

const indexes = new WeakMap<Generation, Promise<UsageIndex>>()

/** Made when first asked for, in slices, so that requests are served meanwhile. */
export function usageOf (generation: Generation): Promise<UsageIndex> {
  let index = indexes.get(generation)
  if (index === undefined) indexes.set(generation, index = buildUsage(generation))
  return index
}

export function readersOf ({ paths }: Pick<UsageIndex, 'paths'>, name: string): Set<string> {
  const wanted = name.split('.')
  const candidates = [firstSegment(name), '*'].flatMap(head => [...paths.get(head) ?? []])
  return new Set(candidates.flatMap(([path, prompts]) => overlaps(path.split('.'), wanted) ? [...prompts] : []))
}

async function buildUsage (generation: Generation): Promise<UsageIndex> {
  const slices = createSlices()
  const tools = new Map<string, Set<string>>()
  const prompts = new Map<string, Set<string>>()
  const hopeful = new Map<string, Set<string>>()
  const paths = new Map<string, Map<string, Set<string>>>()
  const pinned = new Map<string, PartialText>()
  for (const prompt of generation.prompts.values()) {
    take(prompt)
    for (const id of idsOfAbsent(prompt)) addTo(hopeful, id, prompt.id)
    for (const { id } of offeredTools(prompt)) addTo(tools, id, prompt.id)
    if (slices.isDue()) await slices.pause()
  }
  for (const text of pinned.values()) {
    take(text)
    if (slices.isDue()) await slices.pause()
  }

  function take (text: PartialText): void {
    for (const { need } of everyPath(text)) addTo(branch(paths, firstSegment(need.path)), need.path, text.id)
    for (const link of linksOf(text)) {
      addTo(link.kind === 'tool' ? tools : prompts, link.id, text.id)
      // A pinned version (`id@7`) is no prompt of the generation, but uses what its text names.
      if (isPromptPartial(link) && link.prompt.entry.version !== undefined) pinned.set(link.id, link.prompt)
    }
  }

  return { tools, prompts, hopeful, paths }
}

/** Tools in its templates and partials are found by their links. */
function offeredTools ({ entry, loopTools }: Prompt): Prompt['loopTools'] {
  return entry.chat.toolLoop?.tools === undefined ? [] : loopTools
}

/** The name of a partial can mean two ids. */
function idsOfAbsent ({ id, entry, texts }: Prompt): string[] {
  return entry.compiled.texts.flatMap(({ references }, text) => references
    .filter((reference, index) => isPartial(reference) && texts[text]?.links[index] === undefined)
    .flatMap(({ name }) => idsMeant(id, name)))
}

export function linksOf ({ texts }: Pick<Prompt, 'texts'>): readonly Link[] {
  return texts.flatMap(({ links }) => links.filter(link => link !== undefined))
}

export function addTo (users: Map<string, Set<string>>, used: string, user: string): void {
  const known = users.get(used)
  if (known === undefined) users.set(used, new Set([user]))
  else known.add(user)
}

export function branch<T> (branches: Map<string, Map<string, T>>, name: string): Map<string, T> {
  const known = branches.get(name) ?? new Map<string, T>()
  branches.set(name, known)
  return known
}
