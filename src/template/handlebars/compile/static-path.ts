import { RESERVED_NAMES } from '../../run/scope.ts'

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
export function isInInline (path: string): boolean {
  return path.startsWith('\0')
}

function isMark (path: string): boolean {
  return isInInline(path) && !path.includes('.')
}
