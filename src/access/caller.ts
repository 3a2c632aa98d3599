import { type JsonObject } from '../base/json.ts'
import { NamePatterns } from './name-patterns.ts'
import { type Role, ROLES } from './role.ts'

/** The limits of a caller for each minute; `undefined` for no limit. */
export interface CallerLimits {
  readonly requests: number | undefined
  /** The greatest number of model tokens, input and output together, in one minute. */
  readonly tokens: number | undefined
}

/** The sender of a request, as access control knows it from the request's token. */
export interface Caller {
  /** The name of the caller's token; `''` for a caller without a token. */
  readonly name: string
  readonly roles: ReadonlySet<Role>
  /** The value of `caller` in templates; empty when the operator has configured no tokens. */
  readonly facts: JsonObject
  /** The name patterns of the prompts that this caller may see; `undefined` for all prompts. */
  readonly prompts: NamePatterns | undefined
  /** The name patterns of the shared variables that this caller may see; `undefined` for all. */
  readonly environs: NamePatterns | undefined
  /** The name patterns of the agents, skills and plans that this caller may run, such as `agents.helper`; `undefined` for all. */
  readonly runs: NamePatterns | undefined
  /** The name patterns of the targets and workspaces that this caller's sessions may use; `undefined` for all. */
  readonly targets: NamePatterns | undefined
  /**
   * The protected labels (names such as `production` that point to a version of a prompt) that this caller is allowed to move; `undefined`
   * for none beyond those that its roles allow.
   */
  readonly labels: ReadonlySet<string> | undefined
  /** The label (such as `production`) that chooses the version of a prompt for this caller, when the request names no label and no version. */
  readonly serve: string | undefined
  readonly limits: CallerLimits
}

/** The caller of every request when the operator has configured no tokens: everything is allowed. */
export const ANYONE: Caller = {
  name: '',
  roles: new Set(ROLES),
  facts: {},
  prompts: undefined,
  environs: undefined,
  runs: undefined,
  targets: undefined,
  labels: undefined,
  serve: undefined,
  limits: { requests: undefined, tokens: undefined }
}

/** The caller of a request without a known token, when the operator has configured tokens: nothing is allowed, and nothing can be seen. */
export const NOBODY: Caller = {
  ...ANYONE,
  roles: new Set(),
  prompts: new NamePatterns([]),
  environs: new NamePatterns([]),
  runs: new NamePatterns([]),
  targets: new NamePatterns([])
}

/**
 * Whether no entry is hidden from a caller by name patterns. Only such a caller is told the revision of all entries, since that would reveal a
 * change of a hidden one.
 */
export function isUnlimited ({ prompts, environs, runs }: Caller): boolean {
  return prompts === undefined && environs === undefined && runs === undefined
}

/** Whether a caller can list all entries. Such a caller is shown their numbers and hashes. */
export function seesEverything (caller: Caller): boolean {
  return caller.roles.has('read') && isUnlimited(caller)
}

/** A copy of a caller without some of its roles. */
export function withoutRoles (caller: Caller, withheld: ReadonlySet<Role>): Caller {
  return { ...caller, roles: new Set([...caller.roles].filter(role => !withheld.has(role))) }
}
