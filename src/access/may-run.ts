import { type Caller } from './caller.ts'

/**
 * Whether a definition is there for a caller. Patterns for what may be run decide; without them it is not there for callers
 * who are limited to a part of the prompts or shared variables.
 * @param kind as keys have it: `agents`
 * @param id dotted
 */
export function mayRun (kind: string, id: string, { prompts, environs, runs }: Pick<Caller, 'prompts' | 'environs' | 'runs'>): boolean {
  return runs?.allows(`${kind}.${id}`) ?? (prompts === undefined && environs === undefined)
}
