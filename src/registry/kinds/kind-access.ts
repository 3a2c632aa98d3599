/**
 * Who may see an entry of a kind, and who may change it. A token may have lists of name patterns for prompts, for shared variables and for runs (what
 * can be run: agents, skills, plans). `prompts`, `environs` and `runs` name the list whose patterns the entry's id must match. `open`: everybody sees
 * the entry. `shown`: callers who see something that the entry brings. Entries of the last three are changed only by callers without patterns for
 * prompts and shared variables.
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
