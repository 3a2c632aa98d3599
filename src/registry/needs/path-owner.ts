import { type EnvironSource } from '../../template/run/environ-source.ts'
import { type BareNames, KNOWN_MODULES, RESERVED_NAMES } from '../../template/run/scope.ts'

/** Tells whether a name is published as a shared variable. */
export type EnvironNames = Pick<EnvironSource, 'has' | 'hasBelow' | 'hides'>

/** A path that a template reads, with the owner of its value. */
export interface OwnedPath {
  /** Who gives the value. `variables`: the caller. `environs`: only a shared variable. `caller`: the service itself, from the caller's verified identity. */
  readonly owner: 'variables' | 'environs' | 'caller'
  /** The path from the root of all values: `variables.a.b`, also where the template writes `args.a.b` or `a.b`. */
  readonly path: string
  /** Whether the path was written without `variables.` in front. */
  readonly isBare: boolean
}

/**
 * Tells who gives the value of a path, by the same rules as a render.
 * @param declared the names that are read from the variables without `variables.`; `undefined` for every name
 */
export function ownerOf (path: string, declared: BareNames | undefined, environs: EnvironNames): OwnedPath {
  const head = firstSegment(path)
  const rest = path.slice(head.length)
  if (head === 'variables' || head === 'args') return { owner: 'variables', path: `variables${rest}`, isBare: false }
  if (head === 'caller') return { owner: 'caller', path, isBare: false }
  // A name without `variables.` in front is never looked up in the variables when the prompt declares parameters and this name is none of them.
  const isShared = head === '*' || isModule(head, environs) || (declared !== undefined && !declared.has(head))
  return isShared ? { owner: 'environs', path, isBare: false } : { owner: 'variables', path: `variables.${path}`, isBare: true }
}

/** Whether a name belongs to the root of all values, even if no shared variable of that name is published. */
export function isReserved (name: string): boolean {
  return RESERVED_NAMES.has(name) || KNOWN_MODULES.has(name)
}

/** Whether a name at the root belongs to the shared variables, published or not. */
export function isModule (name: string, environs: EnvironNames): boolean {
  return KNOWN_MODULES.has(name) || environs.hasBelow(name) || environs.has(name) || environs.hides?.(name) === true
}

/** Whether a published shared variable can give the value of a path: a variable at the path itself, above it (`a` for `a.b`) or below it. */
export function isPublished (path: string, environs: EnvironNames): boolean {
  const segments = path.split('.')
  const wildcard = segments.indexOf('*')
  const written = wildcard === -1 ? segments : segments.slice(0, wildcard)
  if (written.length === 0 || environs.hasBelow(written.join('.'))) return true
  return written.some((_, index) => environs.has(written.slice(0, index + 1).join('.')))
}

/** The name that a path begins with. */
export function firstSegment (path: string): string {
  const dot = path.indexOf('.')
  return dot === -1 ? path : path.slice(0, dot)
}
