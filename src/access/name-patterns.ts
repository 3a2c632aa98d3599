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
