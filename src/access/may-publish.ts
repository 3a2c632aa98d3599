import { type Kind } from '../store/keys.ts'
import { type Caller } from './caller.ts'

/**
 * Whether a caller's patterns let it change an entry. Extensions and tools are for everybody, so that a caller who is
 * limited to a part of the prompts or shared variables changes none.
 * @param id dotted
 */
export function mayPublish (kind: Kind, id: string, { prompts, environs }: Pick<Caller, 'prompts' | 'environs'>): boolean {
  if (kind === 'templates') return prompts?.allows(id) ?? true
  if (kind === 'environs') return environs?.allows(id) ?? true
  return prompts === undefined && environs === undefined
}
