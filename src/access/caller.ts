import type { JsonObject } from '../base/json.ts'

/** A dotted name, or one that ends in the segment `*` for all names below it. */
const SHAPE = /^(?:\*|[^.*\s]+(?:\.[^.*\s]+)*(?:\.\*)?)$/

/** `team.review`, `team.*` or `*`. No other wildcards, so that a name alone tells whether all names below it are allowed. */
export class NamePatterns {
  readonly names: ReadonlySet<string>
  readonly branches: readonly string[]

  /** @throws Error when one is neither a dotted name nor one that ends in `*` */
  constructor (patterns: readonly string[]) {
    const wrong = patterns.find(pattern => !SHAPE.test(pattern))
    if (wrong !== undefined) throw new Error(`"${wrong}" is no pattern: expected a name such as team.review, or everything below one, team.*`)
    const branches = patterns.filter(pattern => pattern.endsWith('*')).map(pattern => pattern.slice(0, -2))
    this.names = new Set(patterns.filter(pattern => !pattern.endsWith('*')))
    this.branches = branches.includes('') ? [''] : branches
  }

  get written (): string[] {
    return [...this.names, ...this.branches.map(branch => branch === '' ? '*' : `${branch}.*`)]
  }

  allows (name: string): boolean {
    return this.names.has(name) || this.branches.some(branch => isBelow(name, branch))
  }

  allowsBelow (name: string): boolean {
    return this.branches.some(branch => name === branch || isBelow(name, branch))
  }
}

export function isBelow (name: string, branch: string): boolean {
  return branch === '' || (name.startsWith(branch) && name[branch.length] === '.')
}

/** docs/security.md says which call needs which role. */
export const ROLES = ['read', 'render', 'chat', 'write', 'run', 'approve', 'admin', 'terminal'] as const

export type Role = typeof ROLES[number]

/** `admin` includes all others but `terminal`, whose holder can run any command without an approval. */
export function impliedRoles (given: readonly Role[]): ReadonlySet<Role> {
  return new Set(given.includes('admin') ? [...ROLES.filter(role => role !== 'terminal'), ...given] : given)
}

export function isRole (name: string): name is Role {
  return (ROLES as readonly string[]).includes(name)
}

/** `undefined` for no limit. */
export interface CallerLimits {
  /** In a minute; so are `tokens`. */
  readonly requests: number | undefined
  readonly tokens: number | undefined
  /** Sessions of which one process performs something at a time. */
  readonly running?: number | undefined
}

/** The sender of a request, as access control knows it from the request's token. */
export interface Caller {
  /** `''` for a caller without a token. */
  readonly name: string
  readonly roles: ReadonlySet<Role>
  /** The value of `caller` in templates; empty when the operator has configured no tokens. */
  readonly facts: JsonObject
  readonly prompts: NamePatterns | undefined
  readonly environs: NamePatterns | undefined
  /** Agents, skills and plans, such as `agents.helper`; `undefined` for all. */
  readonly runs: NamePatterns | undefined
  readonly targets: NamePatterns | undefined
  /** Protected labels that this caller may move; `undefined` for none beyond those that its roles allow. */
  readonly labels: ReadonlySet<string> | undefined
  /** The label when the request names no label and no version. */
  readonly serve: string | undefined
  readonly limits: CallerLimits
}

/** Without configured tokens everything is allowed. */
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

/** Without a known token, when tokens are configured, nothing is allowed, and nothing can be seen. */
export const NOBODY: Caller = {
  ...ANYONE,
  roles: new Set(),
  prompts: new NamePatterns([]),
  environs: new NamePatterns([]),
  runs: new NamePatterns([]),
  targets: new NamePatterns([])
}

/** Only an unlimited caller learns the revision of all entries, which would reveal a change of a hidden one. */
export function isUnlimited ({ prompts, environs, runs }: Caller): boolean {
  return prompts === undefined && environs === undefined && runs === undefined
}

/** Such a caller is shown the numbers and hashes of entries. */
export function seesEverything (caller: Caller): boolean {
  return caller.roles.has('read') && isUnlimited(caller)
}

export function withoutRoles (caller: Caller, withheld: ReadonlySet<Role>): Caller {
  return { ...caller, roles: new Set([...caller.roles].filter(role => !withheld.has(role))) }
}
