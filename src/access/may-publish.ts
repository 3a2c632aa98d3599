import { type KindAccess } from '../registry/kinds/kind-access.ts'
import { type Caller } from './caller.ts'
import { mayRun } from './may-run.ts'

/**
 * Whether a caller may change an entry, judged by its name patterns. Entries other than prompts and shared variables concern all callers: a caller
 * who is limited to some prompts or shared variables may change no such entry. An agent, a skill or a plan may be changed only by a caller who may run
 * it.
 * @param id the dotted id of the entry
 */
export function mayPublish ({ access, key }: KindAccess, id: string, { prompts, environs, runs }: Pick<Caller, 'prompts' | 'environs' | 'runs'>): boolean {
  if (access === 'prompts') return prompts?.allows(id) ?? true
  if (access === 'environs') return environs?.allows(id) ?? true
  return prompts === undefined && environs === undefined && (access !== 'runs' || mayRun(key, id, { prompts, environs, runs }))
}
