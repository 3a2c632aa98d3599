import { type Generation } from './generation.ts'
import { type DefinitionKind, type Kind } from '../kinds/kind.ts'
import { type Definition } from '../kinds/definition.ts'

const NONE: ReadonlyMap<string, never> = new Map<string, never>()

/** The definitions of a kind that a generation offers, by id. */
export function definitionsOf<D extends Definition> ({ definitions }: Pick<Generation, 'definitions'>, kind: DefinitionKind<D>): ReadonlyMap<string, D> {
  // The cast is safe: the parser of this very row has made these definitions.
  return (definitions.get(kind.key) ?? NONE) as ReadonlyMap<string, D>
}

/** The entries that a generation offers of a kind that is read as a whole, by id. */
export function offeredOf ({ extensions, prompts, tools, releases, definitions }: Generation, kind: Kind): ReadonlyMap<string, unknown> {
  const linked = new Map<string, ReadonlyMap<string, unknown>>([['extensions', extensions], ['templates', prompts], ['tools', tools], ['releases', releases]])
  return linked.get(kind.key) ?? definitions.get(kind.key) ?? NONE
}
