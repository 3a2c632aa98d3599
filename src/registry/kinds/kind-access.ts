/**
 * Which callers see the entries of a kind, and change them. A caller's token can have name patterns: for prompts, for shared variables (`environs`), and
 * for runs (agents, skills, plans). A caller without patterns for something is not limited there.
 * - `prompts`, `environs`: the caller's patterns for prompts, or for shared variables, decide.
 * - `runs`: the caller's patterns for runs decide. A caller without them sees an entry only if the caller has no other patterns either.
 * - `open`: every caller sees all entries.
 * - `shown`: a caller with patterns for prompts sees an entry (an extension) only if the caller sees a prompt that the entry brings.
 *
 * A caller with patterns for prompts or shared variables cannot change entries with `runs`, `open` or `shown`.
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
