import { type Generation } from './generation.ts'
import { type DefinitionKind, type Kind } from '../kinds/kind.ts'
import { type Definition } from '../kinds/definition.ts'

const NONE: ReadonlyMap<string, never> = new Map<string, never>()

/** The definitions of one kind (agents, skills or plan profiles) in a generation, by id. */
export function definitionsOf<D extends Definition> ({ definitions }: Pick<Generation, 'definitions'>, kind: DefinitionKind<D>): ReadonlyMap<string, D> {
  // The cast is safe: these definitions were made by the parser of this kind.
  return (definitions.get(kind.key) ?? NONE) as ReadonlyMap<string, D>
}

/** The entries of one kind in a generation, by id. The kind must be one whose values are read at start. */
export function offeredOf ({ extensions, prompts, tools, releases, definitions }: Generation, kind: Kind): ReadonlyMap<string, unknown> {
  const linked = new Map<string, ReadonlyMap<string, unknown>>([['extensions', extensions], ['templates', prompts], ['tools', tools], ['releases', releases]])
  return linked.get(kind.key) ?? definitions.get(kind.key) ?? NONE
}
