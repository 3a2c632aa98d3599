import { compareNames } from '../registry/kinds/environ-names.ts'
import { type EnvironSource, type EnvironValue } from '../template/run.ts'
import { type Caller, isBelow, type NamePatterns } from './caller.ts'

export interface EnvironNameList extends Iterable<string> {
  page (prefix: string, after: string, limit: number): readonly string[]
}

export interface VisibleEnvirons extends EnvironSource {
  readonly index: EnvironNameList
}

export function visibleEnvirons (environs: VisibleEnvirons, { environs: patterns }: Pick<Caller, 'environs'>): VisibleEnvirons {
  return patterns === undefined ? environs : new EnvironView(environs, patterns)
}

const PAGE = 1000

/** Templates read every shared variable through this view: by a fixed or computed path, by iteration, or in a partial. */
class EnvironView implements VisibleEnvirons {
  readonly index: EnvironNameList
  readonly #all: VisibleEnvirons
  readonly #patterns: NamePatterns

  constructor (all: VisibleEnvirons, patterns: NamePatterns) {
    this.#all = all
    this.#patterns = patterns
    this.index = {
      page: (prefix, after, limit) => this.#page(prefix, after, limit),
      [Symbol.iterator]: () => this.#names()
    }
  }

  has (name: string): boolean {
    return this.#patterns.allows(name) && this.#all.has(name)
  }

  hasBelow (name: string): boolean {
    if (this.#patterns.allowsBelow(name)) return this.#all.hasBelow(name)
    return this.#branchesBelow(name).some(branch => this.#all.hasBelow(branch)) || this.#namesAllowedBelow(name).length > 0
  }

  /** The request of a caller is not allowed to give a value of its own for a name that is hidden from it. */
  hides (name: string): boolean {
    return (this.#all.has(name) || this.#all.hasBelow(name)) && !this.has(name) && !this.hasBelow(name)
  }

  namesBelow (name: string, limit: number): readonly string[] | undefined {
    if (this.#patterns.allowsBelow(name)) return this.#all.namesBelow(name, limit)
    const found = new Set(this.#namesAllowedBelow(name))
    for (const branch of this.#branchesBelow(name)) {
      const names = this.#all.namesBelow(branch, limit)
      if (names === undefined) return undefined
      for (const each of names) found.add(each)
    }
    return found.size > limit ? undefined : [...found].sort()
  }

  segmentsBelow (name: string): readonly string[] {
    if (this.#patterns.allowsBelow(name)) return this.#all.segmentsBelow(name)
    const start = name === '' ? 0 : name.length + 1
    const leading = [...this.#branchesBelow(name).filter(branch => this.#all.hasBelow(branch)), ...this.#namesAllowedBelow(name)]
    return [...new Set(leading.map(each => each.slice(start).split('.', 1)[0] as string))].sort()
  }

  cached (name: string): EnvironValue | undefined {
    return this.#patterns.allows(name) ? this.#all.cached(name) : undefined
  }

  fetch (names: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, EnvironValue>> {
    return this.#all.fetch(names.filter(name => this.#patterns.allows(name)), signal)
  }

  #branchesBelow (name: string): string[] {
    return this.#patterns.branches.filter(branch => isBelow(branch, name))
  }

  #namesAllowedBelow (name: string): string[] {
    return [...this.#patterns.names].filter(each => isBelow(each, name) && this.#all.has(each))
  }

  #page (prefix: string, after: string, limit: number): readonly string[] {
    const found = new Set([...this.#patterns.names].filter(name => name.startsWith(prefix) && compareNames(name, after) > 0 && this.#all.has(name)))
    for (const branch of this.#patterns.branches) {
      const start = branch === '' ? '' : `${branch}.`
      const both = start.startsWith(prefix) ? start : prefix.startsWith(start) ? prefix : undefined
      if (both !== undefined) for (const name of this.#all.index.page(both, after, limit)) found.add(name)
    }
    return [...found].sort(compareNames).slice(0, limit)
  }

  * #names (): Generator<string> {
    let page = this.#page('', '', PAGE)
    while (page.length > 0) {
      yield * page
      page = this.#page('', page.at(-1) as string, PAGE)
    }
  }
}
