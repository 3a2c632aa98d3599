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

/**
 * Whether a caller may go on with a session of a definition, which nobody needs to find for that: the patterns for what may
 * be run decide alone.
 * @param definition as `agents/helper`
 */
export function mayGoOn ({ runs }: Pick<Caller, 'runs'>, definition: string): boolean {
  // Nobody registers a terminal: the role and the target decide about it.
  if (definition.startsWith('terminals/')) return true
  return runs?.allows(definition.replace('/', '.')) ?? true
}
