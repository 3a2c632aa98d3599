/** The shape of a pattern: a dotted name, or one that ends in the segment `*` for all names below it. */
const SHAPE = /^(?:\*|[^.*\s]+(?:\.[^.*\s]+)*(?:\.\*)?)$/

/**
 * Names that a token is limited to: `team.review` is that name alone, `team.*` everything below `team`, `*` everything.
 * No other wildcards exist, so that whether a whole branch is allowed follows from its prefix, however many names there are.
 */
export class NamePatterns {
  /** Names that are allowed one by one. */
  readonly names: ReadonlySet<string>
  /** Names below which all names are allowed; `''` allows every name. */
  readonly branches: readonly string[]

  /** @throws Error when a pattern is neither a dotted name nor one that ends in `*` */
  constructor (patterns: readonly string[]) {
    const wrong = patterns.find(pattern => !SHAPE.test(pattern))
    if (wrong !== undefined) throw new Error(`"${wrong}" is no pattern: expected a name such as team.review, or everything below one, team.*`)
    const branches = patterns.filter(pattern => pattern.endsWith('*')).map(pattern => pattern.slice(0, -2))
    this.names = new Set(patterns.filter(pattern => !pattern.endsWith('*')))
    this.branches = branches.includes('') ? [''] : branches
  }

  /** The patterns as `API_TOKENS` writes them. */
  get written (): string[] {
    return [...this.names, ...this.branches.map(branch => branch === '' ? '*' : `${branch}.*`)]
  }

  allows (name: string): boolean {
    return this.names.has(name) || this.branches.some(branch => isBelow(name, branch))
  }

  /** Whether everything below a name is allowed. */
  allowsBelow (name: string): boolean {
    return this.branches.some(branch => name === branch || isBelow(name, branch))
  }
}

/** Whether a dotted name lies below another; everything lies below `''`. */
export function isBelow (name: string, branch: string): boolean {
  return branch === '' || (name.startsWith(branch) && name[branch.length] === '.')
}
