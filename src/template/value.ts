import { type Json } from '../base/json.ts'

/**
 * The values that templates work with: JSON, with integers beyond 2^53 as `bigint`, and four values that JSON has no word
 * for. Both languages share them. A value that only one language needs, such as Go's float64 2.0, stays inside that language.
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

/** A JSON object. Its keys come from strangers: read it with `Object.hasOwn`, or see `data-names.ts`. */
export interface ValueObject { readonly [key: string]: Value }

/** A value that is not known yet in this pass: a tool's reply, or a shared variable that is not in memory. Only `PENDING` exists. */
export class Pending {
  readonly kind = 'pending'
}

/** The value of a failed tool without a default, and of what is missing inside a tool's result. Only `NOTHING` exists. */
export class Nothing {
  readonly kind = 'nothing'

  /**
   * A partial's named argument may be nothing, and then a member of its context is nothing, too. The context's JSON leaves
   * that member out.
   */
  toJSON (): undefined {
    return undefined
  }
}

/** A place where no value is. Consuming it is a miss; testing it is not (docs/templates.md, Missing values). */
export class Absent {
  readonly kind = 'absent'
  /** The path as a caller would write it, from the scope root: `variables.a.b`. */
  readonly path: string

  constructor (path: string) {
    this.path = path
  }
}

/** The one value of a thing that is not known yet in this pass. */
export const PENDING: Pending = Object.freeze(new Pending())

/** The one value of a failed tool without a default. */
export const NOTHING: Nothing = Object.freeze(new Nothing())

/**
 * An object whose members are found without reading all of it: the scope root, or a branch of the shared variables. Beside
 * `kind` and `path`, subclasses have only methods and private state, or templates could read it (see `data-names.ts`).
 */
export abstract class LazyNode {
  readonly kind = 'lazy'
  /** The path from the scope root, `''` for the root itself. */
  abstract readonly path: string
  /** The member called `name` (one segment, never split): a value, a deeper node, `PENDING`, or `Absent`. */
  abstract field (name: string): Value
  /** The names of all members, sorted by code units; never reads more than the node's own value. */
  abstract keys (): readonly string[] | Pending
  /** The whole node as plain data; `PENDING` until every leaf has arrived. Throws `RENDER_BUDGET` over 1,000 keys or 1 MiB. */
  abstract read (): Json | Pending
}

// Nothing is one of them: what is missing in it is nothing too.
const toolResults = new WeakSet<object>([NOTHING])

/** Marks every object and list inside a tool's result, so that what is missing in it is `NOTHING`, not a miss. */
export function markToolResult (value: Json): void {
  if (typeof value !== 'object' || value === null || toolResults.has(value)) return
  toolResults.add(value)
  for (const member of Object.values(value)) markToolResult(member)
}

/** Marks an object or list that was made from `source`, itself only, if that came out of a tool. */
export function inheritToolResult (container: object, source: object): void {
  if (toolResults.has(source)) toolResults.add(container)
}

/** Whether this object or list came out of a tool. */
export function isToolResult (container: object): boolean {
  return toolResults.has(container)
}

/** Whether a value is a plain JSON object: not null, no list, none of the special values. */
export function isObject (value: Value): value is ValueObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isSpecial(value)
}

/** Whether a value is there, and data. */
export function isData (value: unknown): boolean {
  return value !== null && value !== undefined && !(typeof value === 'object' && isSpecial(value))
}

/** Whether a value is a lazy node, pending, nothing or absent. */
export function isSpecial (value: object): value is LazyNode | Pending | Nothing | Absent {
  return value === PENDING || value === NOTHING || value instanceof LazyNode || value instanceof Absent
}
