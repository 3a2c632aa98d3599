import type { JsonObject } from '../base/json.ts'

/** Matches a pattern: a dotted name, or one that ends in the segment `*` for all names below it. */
const SHAPE = /^(?:\*|[^.*\s]+(?:\.[^.*\s]+)*(?:\.\*)?)$/

/**
 * The name patterns to which a token is limited: `team.review` is that name alone, `team.*` is everything below `team`, `*` is everything. There are
 * no other wildcards: so whether all names below a name are allowed follows from that name alone, however many names lie below it.
 */
export class NamePatterns {
  /** The names that are allowed one by one. */
  readonly names: ReadonlySet<string>
  /** The names below which all names are allowed; `''` allows every name. */
  readonly branches: readonly string[]

  /** Parses patterns. @throws Error when one is neither a dotted name nor one that ends in `*` */
  constructor (patterns: readonly string[]) {
    const wrong = patterns.find(pattern => !SHAPE.test(pattern))
    if (wrong !== undefined) throw new Error(`"${wrong}" is no pattern: expected a name such as team.review, or everything below one, team.*`)
    const branches = patterns.filter(pattern => pattern.endsWith('*')).map(pattern => pattern.slice(0, -2))
    this.names = new Set(patterns.filter(pattern => !pattern.endsWith('*')))
    this.branches = branches.includes('') ? [''] : branches
  }

  /** The patterns as the setting `API_TOKENS` has them: `team.review`, `team.*` or `*`. */
  get written (): string[] {
    return [...this.names, ...this.branches.map(branch => branch === '' ? '*' : `${branch}.*`)]
  }

  allows (name: string): boolean {
    return this.names.has(name) || this.branches.some(branch => isBelow(name, branch))
  }

  /** Whether every name below a name is allowed. */
  allowsBelow (name: string): boolean {
    return this.branches.some(branch => name === branch || isBelow(name, branch))
  }
}

/** Whether a dotted name lies below another one. Every name lies below `''`. */
export function isBelow (name: string, branch: string): boolean {
  return branch === '' || (name.startsWith(branch) && name[branch.length] === '.')
}

/** All roles that a caller can have; docs/security.md says which call needs which role. */
export const ROLES = ['read', 'render', 'chat', 'write', 'run', 'approve', 'admin', 'terminal'] as const

export type Role = typeof ROLES[number]

/** Adds the roles that the given roles include. `admin` includes all others but `terminal`, whose holder can run any command without an approval. */
export function impliedRoles (given: readonly Role[]): ReadonlySet<Role> {
  return new Set(given.includes('admin') ? [...ROLES.filter(role => role !== 'terminal'), ...given] : given)
}

export function isRole (name: string): name is Role {
  return (ROLES as readonly string[]).includes(name)
}

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
