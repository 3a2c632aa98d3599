import { RESERVED_NAMES } from '../../run/scope.ts'

/** Where a value is found, as far as a text tells: paths from the scope root, `''` for the root itself. */
export interface StaticPath {
  /** Mostly one; one for each place that the text around it is run from. */
  readonly certain: readonly string[]
  /** Paths that it may have, depending on a value. */
  readonly possible: readonly string[]
}

/** Possible paths of one value: they multiply with each block over a value around it. */
const MAX_POSSIBLE = 16

/** Of what is no member of the root, such as a tool's result. */
export const UNKNOWN: StaticPath = { certain: [], possible: [] }

/** Of the scope root itself. */
export const ROOT: StaticPath = { certain: [''], possible: [] }

/** A path one segment longer. */
export function extendPath (path: string, segment: string): string {
  return path === '' ? segment : `${path}.${segment}`
}

/**
 * Where a member is found. `variables`, `args` and `caller` are the root's where what they are looked up in may be the
 * root: nothing else has members of these names.
 */
export function memberAt (holder: StaticPath, names: readonly string[]): StaticPath {
  const [head] = names
  if (head === undefined) return holder
  const extend = (path: string): string => names.reduce(extendPath, path)
  const root = RESERVED_NAMES.has(head) ? holder.possible.find(path => path === '' || isMark(path)) : undefined
  if (root !== undefined) return { certain: [...holder.certain, root].map(extend), possible: [] }
  return { certain: holder.certain.map(extend), possible: holder.possible.map(extend) }
}

/** Where a value is found that is one of several, depending on a value. */
export function oneOf (...values: readonly StaticPath[]): StaticPath {
  const paths = new Set(values.flatMap(({ certain, possible }) => [...certain, ...possible]))
  return paths.size === 0 ? UNKNOWN : { certain: [], possible: [...paths].slice(0, MAX_POSSIBLE) }
}

/** The path of a value that has one, and that for certain; in an inline partial nothing has one while it is compiled. */
export function solePath ({ certain: [path, ...more], possible }: StaticPath): string | undefined {
  return path === undefined || more.length + possible.length > 0 || isInInline(path) ? undefined : path
}

/** Whether a path starts at the context of an inline partial, which a mark stands for. */
export function isInInline (path: string): boolean {
  return path.startsWith('\0')
}

function isMark (path: string): boolean {
  return isInInline(path) && !path.includes('.')
}
