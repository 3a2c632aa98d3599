/**
 * For whom an entry exists, and who may change it. The name of a caller's patterns: whom they allow. `open`: everybody
 * sees it. `shown`: who sees something that it brings. `unrestricted`: who has no patterns. The last three are changed by
 * callers without patterns only.
 */
export type Access = 'prompts' | 'environs' | 'open' | 'shown' | 'unrestricted'

/** As much of a kind as access control reads. */
export interface KindAccess {
  /** In keys and folders: `templates`. */
  readonly key: string
  /** In statuses, metrics and addresses: `prompts`. */
  readonly name: string
  readonly access: Access
}
