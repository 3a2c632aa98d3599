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
 * Whether a caller has the role `read` and no name patterns for prompts or shared variables. Such a caller is shown counts and hashes of all
 * entries. Name patterns for `runs` do not matter here.
 */
export function seesEverything ({ roles, prompts, environs }: Caller): boolean {
  return roles.has('read') && prompts === undefined && environs === undefined
}

/** A copy of a caller without some of its roles. */
export function withoutRoles (caller: Caller, withheld: ReadonlySet<Role>): Caller {
  return { ...caller, roles: new Set([...caller.roles].filter(role => !withheld.has(role))) }
}
