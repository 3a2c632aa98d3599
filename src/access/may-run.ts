import { type Caller } from './caller.ts'

/**
 * Whether a caller is allowed to see and run an agent, a skill or a plan. The caller's name patterns for `runs` decide. A caller without such
 * patterns may run all, unless the caller is limited to some prompts or shared variables: such a caller may run none.
 * @param kind the kind as keys of the store write it: `agents`
 * @param id the dotted id of the agent, skill or plan
 */
export function mayRun (kind: string, id: string, { prompts, environs, runs }: Pick<Caller, 'prompts' | 'environs' | 'runs'>): boolean {
  return runs?.allows(`${kind}.${id}`) ?? (prompts === undefined && environs === undefined)
}

/**
 * Whether a caller may continue a session of an agent, a skill or a plan. Only the caller's name patterns for `runs` decide: the caller need not be
 * able to see what runs in the session.
 * @param definition kind and id: `agents/helper`
 */
export function mayGoOn ({ runs }: Pick<Caller, 'runs'>, definition: string): boolean {
  // A session of a terminal belongs to no registered entry: the caller's role and the caller's allowed targets decide about it.
  if (definition.startsWith('terminals/')) return true
  return runs?.allows(definition.replace('/', '.')) ?? true
}
