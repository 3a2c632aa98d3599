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

/** Whether a caller is allowed to run what a session's log names as its definition. @param definition kind and id: `agents/helper` */
export function mayRunDefinition (caller: Pick<Caller, 'prompts' | 'environs' | 'runs'>, definition: string): boolean {
  const [kind = '', id = ''] = definition.split('/')
  // A session of a terminal belongs to no registered entry: the caller's role and the caller's allowed targets decide about it.
  return kind === 'terminals' || mayRun(kind, id, caller)
}
