/**
 * Who may see an entry of a kind, and who may change it. A caller's token may limit the caller by name patterns: for prompts, for shared variables,
 * and for runs (agents, skills, plans). `prompts` and `environs`: the patterns of that name decide. `runs`: the patterns for runs decide; a caller
 * without these may see the entry only if it has no other patterns either. `open`: every caller sees the entry. `shown`: a caller sees the entry if
 * it sees something that the entry brings. Entries with `runs`, `open` or `shown` are changed only by callers without patterns for prompts and shared
 * variables.
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
