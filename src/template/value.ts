import type { Json } from '../base/json.ts'

/** The least number of members that an object must have so that their names are remembered. */
const MANY = 32

/**
 * Makes a function that lists the names of an object's members, and remembers those of large objects. That is safe, because values never change, and
 * worthwhile, because a template can look at one object a hundred thousand times.
 */
export function rememberingNames (list: (object: object) => readonly string[]): (object: object) => readonly string[] {
  const remembered = new WeakMap<object, readonly string[]>()
  return object => {
    const known = remembered.get(object)
    if (known !== undefined) return known
    const names = list(object)
    if (names.length >= MANY) remembered.set(object, names)
    return names
  }
}

/** The names of an object's own members, in their order. */
export const memberNames = rememberingNames(Object.keys)

/**
 * The values that templates work with: JSON, with integers beyond 2^53 as `bigint`, and four special values that JSON does not have. Both languages
 * share them. A value that only one language needs, such as Go's float64 2.0, stays inside that language.
 */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly Value[]
  | ValueObject
  | LazyNode
  | Pending
  | Nothing
  | Absent

/** A JSON object. Its member names can come from strangers: members are read with `Object.hasOwn`, or as `data-names.ts` describes. */
export interface ValueObject { readonly [key: string]: Value }

/**
 * A value that is not known yet in this pass over the templates: a tool's result, or a shared variable that is not in memory. A render makes passes
 * until all values are known. `PENDING` is the only instance.
 */
export class Pending {
  readonly kind = 'pending'
}

/** The value of a failed tool call that has no default, and of a member that a tool's result lacks. `NOTHING` is the only instance. */
export class Nothing {
  readonly kind = 'nothing'

  /** Leaves the value out of JSON. A named argument of a partial can be `NOTHING`, and then so is a member of the partial's context. */
  toJSON (): undefined {
    return undefined
  }
}

/** Stands for the value at a path when no value is there. Using it is an error (a missing value); testing it is not (docs/templates.md, Missing values). */
export class Absent {
  readonly kind = 'absent'
  /** The path as a caller would write it, from the scope root: `variables.a.b`. */
  readonly path: string

  constructor (path: string) {
    this.path = path
  }
}

/** The value that stands for everything that is not known yet in this pass over the templates. */
export const PENDING: Pending = Object.freeze(new Pending())

/** The value of a failed tool call that has no default, and of a member that a tool's result lacks. */
export const NOTHING: Nothing = Object.freeze(new Nothing())

/**
 * An object whose members are looked up one by one, without reading the whole object: the scope root, or a branch (a group of shared variables). Beside
 * `kind` and `path`, subclasses are only allowed to have methods and private members, because templates could read other members (see `data-names.ts`).
 */
export abstract class LazyNode {
  readonly kind = 'lazy'
  /** The path of the object from the scope root (the object in which a template's names are looked up); `''` for the root itself. */
  abstract readonly path: string
  /** The member with a name (one segment, never split): a value, a deeper node, `PENDING` or an `Absent`. */
  abstract field (name: string): Value
  /** The names of all members, sorted by code units. At most the shared variable with the node's own path is read for that. */
  abstract keys (): readonly string[] | Pending
  /** The whole object as plain data; `PENDING` until every value in it is known. Throws `RENDER_BUDGET` over 1,000 keys or 1 MiB. */
  abstract read (): Json | Pending
}

// `NOTHING` counts as a tool's result, so that every member of it is `NOTHING`, too.
const toolResults = new WeakSet<object>([NOTHING])

/** Marks every object and list in a tool's result. A member that such an object lacks is `NOTHING`, and not a missing value. */
export function markToolResult (value: Json): void {
  if (typeof value !== 'object' || value === null || toolResults.has(value)) return
  toolResults.add(value)
  for (const member of Object.values(value)) markToolResult(member)
}

/** Marks an object or list that was made from a tool's result, so that it counts as a tool's result, too. Its members are not marked. */
export function inheritToolResult (container: object, source: object): void {
  if (toolResults.has(source)) toolResults.add(container)
}

/** Whether an object or list came from a tool. */
export function isToolResult (container: object): boolean {
  return toolResults.has(container)
}

/** Whether a value is a plain JSON object: not null, no list, and none of the special values. */
export function isObject (value: Value): value is ValueObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isSpecial(value)
}

/** Whether a value is data: not null, and none of the special values. */
export function isData (value: unknown): boolean {
  return value !== null && value !== undefined && !(typeof value === 'object' && isSpecial(value))
}

/** Whether a value is one of the special values: lazy, pending, nothing or absent. */
export function isSpecial (value: object): value is LazyNode | Pending | Nothing | Absent {
  return value === PENDING || value === NOTHING || value instanceof LazyNode || value instanceof Absent
}
