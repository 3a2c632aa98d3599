import { type Generation, type Prompt } from './generation.ts'
import { isPromptPartial } from '../link/link-prompts.ts'
import { type DefinitionKind, type Kind } from '../kinds/kind.ts'
import { type Definition } from '../kinds/definition.ts'

const NONE: ReadonlyMap<string, never> = new Map<string, never>()

/** The definitions of one kind (agents, skills or plan profiles) in a generation, by id. */
export function definitionsOf<D extends Definition> ({ definitions }: Pick<Generation, 'definitions'>, kind: DefinitionKind<D>): ReadonlyMap<string, D> {
  // The cast is safe: these definitions were made by the parser of this kind.
  return (definitions.get(kind.key) ?? NONE) as ReadonlyMap<string, D>
}

/**
 * The prompts that are offered for use: those that can be rendered now, sorted by id. A prompt that another one includes is only a part of that one,
 * unless its author has described it.
 */
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

/** The entries of one kind in a generation, by id. The kind must be one whose values are read at start. */
export function offeredOf ({ extensions, prompts, tools, releases, definitions }: Generation, kind: Kind): ReadonlyMap<string, unknown> {
  const linked = new Map<string, ReadonlyMap<string, unknown>>([['extensions', extensions], ['templates', prompts], ['tools', tools], ['releases', releases]])
  return linked.get(kind.key) ?? definitions.get(kind.key) ?? NONE
}
