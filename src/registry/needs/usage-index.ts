import { type Generation, type Prompt } from '../generation/generation.ts'
import { everyPath } from './own-paths.ts'
import { firstSegment } from './path-owner.ts'
import { overlaps } from './path-overlap.ts'
import { idsMeant, isPartial } from '../link/references.ts'
import { createSlices } from '../../runtime/slices.ts'

/** Who uses what in one generation, by each prompt's own text. Paths are by their first segment. */
export interface UsageIndex {
  readonly tools: ReadonlyMap<string, ReadonlySet<string>>
  readonly prompts: ReadonlyMap<string, ReadonlySet<string>>
  /** Prompts that include one of that id as soon as there is one. */
  readonly hopeful: ReadonlyMap<string, ReadonlySet<string>>
  readonly paths: ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>
}

const indexes = new WeakMap<Generation, Promise<UsageIndex>>()

/** The index of a generation, made when it is first asked for, in slices that let requests be served between them. */
export function usageOf (generation: Generation): Promise<UsageIndex> {
  let index = indexes.get(generation)
  if (index === undefined) indexes.set(generation, index = buildUsage(generation))
  return index
}

/** Prompts whose own text reads a shared variable, a part of it, or something around it. */
export function readersOf ({ paths }: UsageIndex, name: string): Set<string> {
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
  for (const prompt of generation.prompts.values()) {
    for (const { need } of everyPath(prompt)) addTo(branch(paths, firstSegment(need.path)), need.path, prompt.id)
    for (const link of linksOf(prompt)) addTo(link.kind === 'tool' ? tools : prompts, link.id, prompt.id)
    for (const id of idsOfAbsent(prompt)) addTo(hopeful, id, prompt.id)
    for (const { id } of offeredTools(prompt)) addTo(tools, id, prompt.id)
    if (slices.isDue()) await slices.pause()
  }
  return { tools, prompts, hopeful, paths }
}

/** Tools that a prompt names for its model; those of its templates and partials are linked there. */
function offeredTools ({ entry, loopTools }: Prompt): Prompt['loopTools'] {
  return entry.chat.toolLoop?.tools === undefined ? [] : loopTools
}

/** What the partials of a prompt that are not there may be called. */
function idsOfAbsent ({ id, entry, texts }: Prompt): string[] {
  return entry.compiled.texts.flatMap(({ references }, text) => references
    .filter((reference, index) => isPartial(reference) && texts[text]?.links[index] === undefined)
    .flatMap(({ name }) => idsMeant(id, name)))
}

/** What a prompt's own names stand for. */
export function linksOf (prompt: Prompt) {
  return prompt.texts.flatMap(({ links }) => links.filter(link => link !== undefined))
}

function addTo (users: Map<string, Set<string>>, used: string, user: string): void {
  const known = users.get(used)
  if (known === undefined) users.set(used, new Set([user]))
  else known.add(user)
}

function branch<T> (branches: Map<string, Map<string, T>>, name: string): Map<string, T> {
  const known = branches.get(name) ?? new Map<string, T>()
  branches.set(name, known)
  return known
}
