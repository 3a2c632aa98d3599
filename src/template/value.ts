import type { Json } from '../base/json.ts'

const MANY = 32

/** Safe, because values never change; worthwhile, because a template can look at one object a hundred thousand times. */
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

export const memberNames = rememberingNames(Object.keys)

/** JSON with big integers as `bigint`, and four special values. What only one language needs, such as Go's 2.0, stays inside it. */
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

/** Names can come from strangers: read with `Object.hasOwn`, or as `scope.ts` does. */
export interface ValueObject { readonly [key: string]: Value }

/** Not known yet in this pass: a tool's result, or a shared variable. `PENDING` is the only instance. */
export class Pending {
  readonly kind = 'pending'
}

/** A failed tool call without a default, or a member that a result lacks. `NOTHING` is the only instance. */
export class Nothing {
  readonly kind = 'nothing'

  /** A named argument can be `NOTHING`: it is left out of JSON. */
  toJSON (): undefined {
    return undefined
  }
}

/** Using it is an error (a missing value); testing it is not (docs/templates.md, Missing values). */
export class Absent {
  readonly kind = 'absent'
  /** As a caller would write it: `variables.a.b`. */
  readonly path: string

  constructor (path: string) {
    this.path = path
  }
}

export const PENDING: Pending = Object.freeze(new Pending())

export const NOTHING: Nothing = Object.freeze(new Nothing())

/** Members are looked up one by one. Subclasses may only have methods and private members beside: templates could read others. */
export abstract class LazyNode {
  readonly kind = 'lazy'
  abstract readonly path: string
  /** `name` is one segment, never split. */
  abstract field (name: string): Value
  /** Sorted by code units. At most the shared variable with the node's own path is read. */
  abstract keys (): readonly string[] | Pending
  /** `PENDING` until every value is known. Throws `RENDER_BUDGET` over 1,000 keys or 1 MiB. */
  abstract read (): Json | Pending
}

// `NOTHING` counts as a tool's result, so that every member of it is `NOTHING`, too.
const toolResults = new WeakSet<object>([NOTHING])

/** A member that a tool's result lacks is `NOTHING`, and not a missing value. */
export function markToolResult (value: Json): void {
  if (typeof value !== 'object' || value === null || toolResults.has(value)) return
  toolResults.add(value)
  for (const member of Object.values(value)) markToolResult(member)
}

/** What was made from a tool's result counts as one, too; its members are not marked. */
export function inheritToolResult (container: object, source: object): void {
  if (toolResults.has(source)) toolResults.add(container)
}

export function isToolResult (container: object): boolean {
  return toolResults.has(container)
}

export function isObject (value: Value): value is ValueObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isSpecial(value)
}

export function isData (value: unknown): boolean {
  return value !== null && value !== undefined && !(typeof value === 'object' && isSpecial(value))
}

export function isSpecial (value: object): value is LazyNode | Pending | Nothing | Absent {
  return value === PENDING || value === NOTHING || value instanceof LazyNode || value instanceof Absent
}
