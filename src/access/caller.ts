import { type JsonObject } from '../base/json.ts'
import { NamePatterns } from './name-patterns.ts'
import { type Role, ROLES } from './role.ts'

/** What a caller may use up each minute; `undefined` for no limit. */
export interface CallerLimits {
  readonly requests: number | undefined
  /** Of models, in and out. */
  readonly tokens: number | undefined
}

/** Who makes a request, as far as access control knows. */
export interface Caller {
  /** The token's name; `''` for a caller without one. */
  readonly name: string
  readonly roles: ReadonlySet<Role>
  /** What templates see as `caller`; empty without access control. */
  readonly facts: JsonObject
  /** Prompts that exist for this caller; `undefined`: all. */
  readonly prompts: NamePatterns | undefined
  /** Shared variables that exist for this caller; `undefined`: all. */
  readonly environs: NamePatterns | undefined
  /** What sessions may be started of, as `agents.helper`; `undefined`: all. */
  readonly runs: NamePatterns | undefined
  /** Targets and workspaces that sessions may use; `undefined`: all. */
  readonly targets: NamePatterns | undefined
  /** Protected labels that this caller may move; `undefined`: none beside those of its roles. */
  readonly labels: ReadonlySet<string> | undefined
  /** The label of prompts that this caller is served where it says none. */
  readonly serve: string | undefined
  readonly limits: CallerLimits
}

/** Everyone, where the operator has configured no tokens. */
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

/** Whether a caller may know of all that is registered, so that counts and hashes of it tell him nothing new. */
export function seesEverything ({ roles, prompts, environs }: Caller): boolean {
  return roles.has('read') && prompts === undefined && environs === undefined
}

/** A caller who may do less. */
export function withoutRoles (caller: Caller, withheld: ReadonlySet<Role>): Caller {
  return { ...caller, roles: new Set([...caller.roles].filter(role => !withheld.has(role))) }
}
