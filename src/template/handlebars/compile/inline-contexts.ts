import { isInInline, memberAt, oneOf, UNKNOWN, type StaticPath } from './static-path.ts'

/** Different paths that one inline partial is called with; bodies are noted once for each. */
const MAX_CONTEXTS = 50

/** Nothing is known of who else calls it: mostly a partial, with what it was itself called with. */
const PERHAPS_ROOT: StaticPath = { certain: [], possible: [''] }

/**
 * What the inline partials of a template are called with. A body may be compiled before a call of it. So what the body reads
 * starts from a mark of its name, and when all calls are known their paths take the place of the mark.
 */
export class InlineContexts {
  /** Names of all inline partials, wherever they are defined. */
  readonly names: ReadonlySet<string>
  readonly #marks: ReadonlyMap<string, string>
  readonly #calls = new Map<string, StaticPath[]>()
  readonly #contexts = new Map<string, StaticPath>()

  constructor (names: Iterable<string>) {
    this.names = new Set(names)
    this.#marks = new Map([...this.names].map((name, index) => [name, `\0${index}`]))
  }

  /** What stands for the context of an inline partial while it is compiled. */
  standIn (name: string): StaticPath {
    return { certain: [this.#marks.get(name) as string], possible: [] }
  }

  /** Notes what an inline partial is called with; other partials are none of it. */
  call (name: string, argument: StaticPath): void {
    const mark = this.#marks.get(name)
    if (mark === undefined) return
    const calls = this.#calls.get(mark)
    if (calls === undefined) this.#calls.set(mark, [argument])
    else calls.push(argument)
  }

  /** Puts the paths of the calls in place of the marks. */
  resolve (where: StaticPath): StaticPath {
    if (this.names.size === 0) return where
    const { certain, possible } = where
    const found = certain.map(path => this.#resolvePath(path))
    return {
      certain: distinct(found.flatMap(each => each.certain)),
      possible: distinct([...found.flatMap(each => each.possible), ...possible.flatMap(path => oneOf(this.#resolvePath(path)).possible)])
    }
  }

  #resolvePath (path: string): StaticPath {
    if (!isInInline(path)) return { certain: [path], possible: [] }
    const [mark = '', ...names] = path.split('.')
    return memberAt(this.#contextOf(mark), names)
  }

  #contextOf (mark: string): StaticPath {
    const known = this.#contexts.get(mark)
    if (known !== undefined) return known
    const calls = this.#calls.get(mark) ?? []
    // Those that call each other meet here what is known so far: a tree has no deepest level.
    this.#contexts.set(mark, UNKNOWN)
    const outer = calls.filter(({ certain, possible }) => ![...certain, ...possible].some(isInInline))
    if (outer.length > 0) this.#contexts.set(mark, union(outer))
    const found = union(calls.map(call => this.resolve(call)))
    const isCalledFromOutside = outer.length > 0 || found.certain.length > 0 || found.possible.length > 0
    const context = isCalledFromOutside ? found : PERHAPS_ROOT
    this.#contexts.set(mark, context)
    return context
  }
}

function union (values: readonly StaticPath[]): StaticPath {
  return { certain: distinct(values.flatMap(({ certain }) => certain)), possible: distinct(values.flatMap(({ possible }) => possible)) }
}

function distinct (paths: readonly string[]): readonly string[] {
  return paths.length < 2 ? paths : [...new Set(paths)].slice(0, MAX_CONTEXTS)
}
