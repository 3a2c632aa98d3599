/**
 * For whom an entry exists, and who may change it. The name of a caller's patterns: whom they allow; without patterns for
 * what may be run, who has no others either. `open`: everybody sees it. `shown`: who sees something that it brings. The last
 * three are changed by callers without patterns for prompts and shared variables only.
 */
export type Access = 'prompts' | 'environs' | 'runs' | 'open' | 'shown'

/** As much of a kind as access control reads. */
export interface KindAccess {
  /** The kind's name in keys and folders: `templates`. */
  readonly key: string
  /** The kind's name in statuses, metrics and addresses: `prompts`. */
  readonly name: string
  readonly access: Access
}
