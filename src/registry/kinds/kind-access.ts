/**
 * Which callers are allowed to see an entry of a kind, and to change it. A caller's token can have name patterns that limit the caller: for prompts, for
 * shared variables, and for runs (agents, skills, plans). `prompts`, `environs`: the patterns of that name decide. `runs`: the patterns for runs decide; a
 * caller who has no patterns for runs sees the entry only if it has no other patterns either. `open`: every caller sees the entry. `shown`: a caller with
 * patterns for prompts sees the entry only if it sees a prompt that the entry brings. A caller with patterns for prompts or shared variables cannot
 * change entries with `runs`, `open` or `shown`.
 */
export type Access = 'prompts' | 'environs' | 'runs' | 'open' | 'shown'

/** The fields of a kind that access control reads. */
export interface KindAccess {
  /** The kind's name in keys and folders: `templates`. */
  readonly key: string
  /** The kind's name in statuses, metrics and addresses: `prompts`. */
  readonly name: string
  readonly access: Access
}
