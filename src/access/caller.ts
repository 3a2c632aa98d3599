import { type JsonObject } from '../base/json.ts'
import { NamePatterns } from './name-patterns.ts'
import { type Role, ROLES } from './role.ts'

/** The limits of a caller for each minute; `undefined`: no limit. */
export interface CallerLimits {
  readonly requests: number | undefined
  /** Tokens of models, input and output together. */
  readonly tokens: number | undefined
}

/** The sender of a request, as far as access control knows. */
export interface Caller {
  /** The name of the caller's token; `''` for a caller without a token. */
  readonly name: string
  readonly roles: ReadonlySet<Role>
  /** The value of `caller` in templates; empty without access control. */
  readonly facts: JsonObject
  /** Prompts that exist for this caller; `undefined`: all. */
  readonly prompts: NamePatterns | undefined
  /** Shared variables that exist for this caller; `undefined`: all. */
  readonly environs: NamePatterns | undefined
  /** Definitions that the caller may start sessions of, such as `agents.helper`; `undefined`: all. */
  readonly runs: NamePatterns | undefined
  /** Targets and workspaces that sessions may use; `undefined`: all. */
  readonly targets: NamePatterns | undefined
  /** Protected labels that this caller may move; `undefined`: none beside those of its roles. */
  readonly labels: ReadonlySet<string> | undefined
  /** The label by which prompts are chosen for this caller when its request names none. */
  readonly serve: string | undefined
  readonly limits: CallerLimits
}

/** The caller of every request while the operator has configured no tokens. */
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

/** A caller without a known token, where tokens are asked for: nothing exists for this caller. */
export const NOBODY: Caller = {
  ...ANYONE,
  roles: new Set(),
  prompts: new NamePatterns([]),
  environs: new NamePatterns([]),
  runs: new NamePatterns([]),
  targets: new NamePatterns([])
}

/** Whether a caller may see the whole registry, so that counts and hashes of the registry tell it nothing new. */
export function seesEverything ({ roles, prompts, environs }: Caller): boolean {
  return roles.has('read') && prompts === undefined && environs === undefined
}

/** A copy of a caller without the withheld roles. */
export function withoutRoles (caller: Caller, withheld: ReadonlySet<Role>): Caller {
  return { ...caller, roles: new Set([...caller.roles].filter(role => !withheld.has(role))) }
}
