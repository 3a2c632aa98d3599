/** One dotted name, or everything below one: a `*` stands at the end, as a whole segment. */
const SHAPE = /^(?:\*|[^.*\s]+(?:\.[^.*\s]+)*(?:\.\*)?)$/

/**
 * Names that a token is limited to: `team.review` is that name alone, `team.*` everything below `team`, `*` everything.
 * Nothing else matches, so that a question about a whole branch is answered by its prefix, however many names there are.
 */
export class NamePatterns {
  /** Names that are allowed by themselves. */
  readonly names: ReadonlySet<string>
  /** Names below which everything is allowed; `''` for all there is. */
  readonly branches: readonly string[]

  /** @throws Error when a pattern has another shape */
  constructor (patterns: readonly string[]) {
    const wrong = patterns.find(pattern => !SHAPE.test(pattern))
    if (wrong !== undefined) throw new Error(`"${wrong}" is no pattern: expected a name such as team.review, or everything below one, team.*`)
    const branches = patterns.filter(pattern => pattern.endsWith('*')).map(pattern => pattern.slice(0, -2))
    this.names = new Set(patterns.filter(pattern => !pattern.endsWith('*')))
    this.branches = branches.includes('') ? [''] : branches
  }

  /** As they are written in `API_TOKENS`. */
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
