import { RESERVED_NAMES } from '../scope.ts'

/**
 * The paths at which a value is found, as far as the template's text shows: paths from the scope root (the object with all variables), `''` for the root
 * itself.
 */
export interface StaticPath {
  /**
   * The paths at which the value is found for certain: mostly one, but one for each call when the path is in an inline partial that is called from
   * several places.
   */
  readonly certain: readonly string[]
  /** The paths at which the value is perhaps found, depending on other values. */
  readonly possible: readonly string[]
}

/** The most possible paths that are kept for one value. The number of paths multiplies with each block around the value. */
const MAX_POSSIBLE = 16

/** The path of a value that is no member of the scope root (the object with all variables), such as a tool's result. */
export const UNKNOWN: StaticPath = { certain: [], possible: [] }

/** The path of the scope root itself (the object with all variables). */
export const ROOT: StaticPath = { certain: [''], possible: [] }

/** A path with one more segment. */
export function extendPath (path: string, segment: string): string {
  return path === '' ? segment : `${path}.${segment}`
}

/**
 * The paths of a member. When the first name is `variables`, `args` or `caller` and the holder can be the scope root, the member is certainly one of the
 * scope root, because nothing else has members of these names.
 */
export function memberAt (holder: StaticPath, names: readonly string[]): StaticPath {
  const [head] = names
  if (head === undefined) return holder
  const extend = (path: string): string => names.reduce(extendPath, path)
  const root = RESERVED_NAMES.has(head) ? holder.possible.find(path => path === '' || isMark(path)) : undefined
  if (root !== undefined) return { certain: [...holder.certain, root].map(extend), possible: [] }
  return { certain: holder.certain.map(extend), possible: holder.possible.map(extend) }
}

/** The paths of a value that is one of several, depending on other values. */
export function oneOf (...values: readonly StaticPath[]): StaticPath {
  const paths = new Set(values.flatMap(({ certain, possible }) => [...certain, ...possible]))
  return paths.size === 0 ? UNKNOWN : { certain: [], possible: [...paths].slice(0, MAX_POSSIBLE) }
}

/**
 * The path of a value that has exactly one path, for certain; `undefined` for any other value. While an inline partial is compiled, its context is not
 * known, so no path from that context counts.
 */
export function solePath ({ certain: [path, ...more], possible }: StaticPath): string | undefined {
  return path === undefined || more.length + possible.length > 0 || isInInline(path) ? undefined : path
}

/** Whether a path begins at the context of an inline partial. A mark (a placeholder that begins with `\0`) stands for that context. */
function isInInline (path: string): boolean {
  return path.startsWith('\0')
}

function isMark (path: string): boolean {
  return isInInline(path) && !path.includes('.')
}

/** The most paths that are kept for the context of one inline partial. The paths in the body of the partial are listed once for each of them. */
const MAX_CONTEXTS = 50

/**
 * The context of an inline partial that the template which defines it never calls: perhaps the scope root. A partial that this template calls can call
 * the inline partial, and mostly passes on the context that it has got itself.
 */
const PERHAPS_ROOT: StaticPath = { certain: [], possible: [''] }

/**
 * The contexts with which the inline partials of a template are called. The body of an inline partial can be compiled before the calls of the partial.
 * So the paths in the body begin with a mark (a placeholder), which is replaced by the calls' paths when all calls are known.
 */
export class InlineContexts {
  /** The names of all inline partials, wherever they are defined. */
  readonly names: ReadonlySet<string>
  readonly #marks: ReadonlyMap<string, string>
  readonly #calls = new Map<string, StaticPath[]>()
  readonly #contexts = new Map<string, StaticPath>()

  constructor (names: Iterable<string>) {
    this.names = new Set(names)
    this.#marks = new Map([...this.names].map((name, index) => [name, `\0${index}`]))
  }

  /** The mark (a placeholder) that stands for the context of an inline partial while its body is compiled. */
  standIn (name: string): StaticPath {
    return { certain: [this.#marks.get(name) as string], possible: [] }
  }

  /** Notes the argument of a call, if an inline partial of that name exists. */
  call (name: string, argument: StaticPath): void {
    const mark = this.#marks.get(name)
    if (mark === undefined) return
    const calls = this.#calls.get(mark)
    if (calls === undefined) this.#calls.set(mark, [argument])
    else calls.push(argument)
  }

  /** Replaces the marks (placeholders for contexts) in paths by the paths of the calls' arguments. */
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
    // When inline partials call each other, the search finds this entry and stops. Otherwise it would not end, and the paths would get longer and longer.
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
