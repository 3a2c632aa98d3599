import { keyToPath } from '../../store/keys.ts'
import { decodeJson } from '../entries/decode-value.ts'
import { asWarnings } from '../diagnostic/diagnostic.ts'
import { type DefinitionKind } from './kind.ts'
import { type Definition } from './definition.ts'

/** The properties in which one kind of definitions (agents, skills, plan profiles) differs from the others. */
export type DefinitionKindOptions<D extends Definition> =
  Pick<DefinitionKind<D>, 'key' | 'name' | 'noun' | 'access' | 'define'> & Partial<Pick<DefinitionKind<D>, 'decode' | 'normalise' | 'file'>>

/**
 * Makes one kind of definitions (agents, skills or plan profiles) for `KINDS`, the table of kinds. An extension lists its entries of this kind under
 * `contributes`, in the field that has the name of the kind's key.
 */
export function defineKind<D extends Definition> ({
  decode = decodeJson,
  normalise = value => value,
  ...options
}: DefinitionKindOptions<D>): DefinitionKind<D> {
  return {
    ...options,
    decode,
    reading: 'whole',
    contributes: options.key,
    normalise,
    async check ({ id, text }, { findToolProblems }) {
      const { diagnostics, toolUses = [] } = options.define(id, decode(text).value, 'direct')
      return [...diagnostics, ...asWarnings(findToolProblems(toolUses))]
    },
    parser: ({ prefix }) => ({
      nameOf: key => keyToPath(key, prefix),
      async parse (key, text) {
        return options.define(keyToPath(key, prefix), decode(text).value, 'direct')
      },
      isSound: () => true,
      isUsable: () => true,
      diagnostics: ({ diagnostics }) => diagnostics
    })
  }
}
