import { RESERVED_NAMES } from '../scope.ts'

/** Paths from the scope root, `''` for the root itself, as far as the template's text shows. */
export interface StaticPath {
  /** Mostly one; several in an inline partial that is called from several places. */
  readonly certain: readonly string[]
  readonly possible: readonly string[]
}

/** A bound, since paths multiply with each block around the value. */
const MAX_POSSIBLE = 16

/** The path of a value that is no member of the scope root (the object with all variables), such as a tool's result. */
export const UNKNOWN: StaticPath = { certain: [], possible: [] }

export const ROOT: StaticPath = { certain: [''], possible: [] }

export function extendPath (path: string, segment: string): string {
  return path === '' ? segment : `${path}.${segment}`
}

/** Only the scope root has `variables`, `args` or `caller`, so such a member is certainly its. */
export function memberAt (holder: StaticPath, names: readonly string[]): StaticPath {
  const [head] = names
  if (head === undefined) return holder
  const extend = (path: string): string => names.reduce(extendPath, path)
  const root = RESERVED_NAMES.has(head) ? holder.possible.find(path => path === '' || isMark(path)) : undefined
  if (root !== undefined) return { certain: [...holder.certain, root].map(extend), possible: [] }
  return { certain: holder.certain.map(extend), possible: holder.possible.map(extend) }
}

export function oneOf (...values: readonly StaticPath[]): StaticPath {
  const paths = new Set(values.flatMap(({ certain, possible }) => [...certain, ...possible]))
  return paths.size === 0 ? UNKNOWN : { certain: [], possible: [...paths].slice(0, MAX_POSSIBLE) }
}

/** While an inline partial is compiled, its context is unknown, so no path from it counts. */
export function solePath ({ certain: [path, ...more], possible }: StaticPath): string | undefined {
  return path === undefined || more.length + possible.length > 0 || isInInline(path) ? undefined : path
}

/** A mark that begins with `\0` stands for the context. */
function isInInline (path: string): boolean {
  return path.startsWith('\0')
}

function isMark (path: string): boolean {
  return isInInline(path) && !path.includes('.')
}

/** A bound, since the paths in the body are listed once for each. */
const MAX_CONTEXTS = 50

/** Of an inline partial never called here: one of the partials called can call it, mostly with its own context. */
const PERHAPS_ROOT: StaticPath = { certain: [], possible: [''] }

/** Inline bodies may be compiled before their calls: their paths begin with a mark, replaced when all calls are known. */
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

  standIn (name: string): StaticPath {
    return { certain: [this.#marks.get(name) as string], possible: [] }
  }

  call (name: string, argument: StaticPath): void {
    const mark = this.#marks.get(name)
    if (mark === undefined) return
    const calls = this.#calls.get(mark)
    if (calls === undefined) this.#calls.set(mark, [argument])
    else calls.push(argument)
  }

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
    // Ends the search when inline partials call each other; paths would grow for ever.
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
