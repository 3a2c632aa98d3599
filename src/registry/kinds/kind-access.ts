/**
 * Who may see an entry of a kind, and who may change it. The token of a caller may limit it by name patterns: for prompts, for shared variables, and
 * for runs (agents, skills, plans). `prompts` and `environs`: the patterns of that name decide. `runs`: the patterns for runs decide, and a caller
 * without them must have no others either. `open`: everybody sees the entry. `shown`: callers see it who see something that it brings. Entries of the
 * last three are changed only by callers without patterns for prompts and shared variables.
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
