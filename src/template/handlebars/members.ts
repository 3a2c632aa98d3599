import { Absent, isToolResult, LazyNode, NOTHING, PENDING, type Value, type ValueObject } from '../value.ts'

/**
 * The own member of a value, or `undefined` when it has none of that name. Texts have no members and lists have
 * elements only, so that no property of JavaScript's own is ever found. What is pending or nothing, its members are too.
 */
export function memberOf (holder: Value, name: string): Value | undefined {
  if (typeof holder !== 'object' || holder === null) return undefined
  if (holder instanceof LazyNode) return holder.field(name)
  // Before the special values are looked for, since nearly every holder is plain: these are the names that they own.
  const isAmbiguous = name === 'kind' || name === 'path' || name === 'length'
  if (!isAmbiguous && Object.hasOwn(holder, name)) return (holder as ValueObject)[name]
  if (holder === PENDING || holder === NOTHING) return holder
  if (holder instanceof Absent) return new Absent(`${holder.path}.${name}`)
  const isMember = isAmbiguous && Object.hasOwn(holder, name) && !(name === 'length' && Array.isArray(holder))
  return isMember ? (holder as ValueObject)[name] : undefined
}

/** What a member that is not there is: nothing inside a tool's result, else absent. */
export function missing (holder: Value, holderFromTool: boolean, path: string): Value {
  return isFromTool(holder, holderFromTool) ? NOTHING : new Absent(path)
}

/** Whether a value belongs to a tool's result; for one that is no container, only its own holder knows. */
export function isFromTool (value: Value, holderFromTool: boolean): boolean {
  return typeof value === 'object' && value !== null ? isToolResult(value) : holderFromTool
}
