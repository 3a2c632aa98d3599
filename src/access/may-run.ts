import { type Caller } from './caller.ts'

/**
 * Whether a definition exists for a caller. The caller's `runs` patterns decide; without them, no definition exists for
 * callers who are limited to a part of the prompts or shared variables.
 * @param kind the kind as store keys write it: `agents`
 * @param id the dotted id of the definition
 */
export function mayRun (kind: string, id: string, { prompts, environs, runs }: Pick<Caller, 'prompts' | 'environs' | 'runs'>): boolean {
  return runs?.allows(`${kind}.${id}`) ?? (prompts === undefined && environs === undefined)
}

/**
 * Whether a caller may continue a session of a definition. The caller's `runs` patterns alone decide: the definition need
 * not be visible to the caller for that.
 * @param definition kind and id: `agents/helper`
 */
export function mayGoOn ({ runs }: Pick<Caller, 'runs'>, definition: string): boolean {
  // Terminals have no registered definition: the caller's role and its targets decide about them.
  if (definition.startsWith('terminals/')) return true
  return runs?.allows(definition.replace('/', '.')) ?? true
}
