import { isRootName } from '../../run/scope.ts'
import { dataMember } from '../../data-names.ts'
import { Absent, isToolResult, LazyNode, NOTHING, PENDING, type Value, type ValueObject } from '../../value.ts'
import { type Scope } from './scope.ts'

/**
 * The own member of a value; `undefined` when it has none of that name. Texts have no members and lists have only elements, so no property of
 * JavaScript itself is ever found. Members of a pending value are pending, and members of `NOTHING` are `NOTHING`.
 * @param isOfData the result of `isDataName` for the name, when the name is known at compile time
 */
export function memberOf (holder: Value, name: string, isOfData = false): Value | undefined {
  if (typeof holder !== 'object' || holder === null) return undefined
  if (isOfData) {
    const member = dataMember(holder, name)
    if (member !== undefined) return member
  }
  if (holder instanceof LazyNode) return holder.field(name)
  if (holder === PENDING || holder === NOTHING) return holder
  if (holder instanceof Absent) return new Absent(`${holder.path}.${name}`)
  const isMember = Object.hasOwn(holder, name) && !(name === 'length' && Array.isArray(holder))
  return isMember ? (holder as ValueObject)[name] : undefined
}

/** The value of a member that does not exist: `NOTHING` inside a tool's result, otherwise absent. */
export function missing (holder: Value, holderFromTool: boolean, path: string): Value {
  return isFromTool(holder, holderFromTool) ? NOTHING : new Absent(path)
}

/** Whether a value belongs to a tool's result. For a value that is no object or list, it depends on the object or list that contains the value. */
export function isFromTool (value: Value, holderFromTool: boolean): boolean {
  return typeof value === 'object' && value !== null ? isToolResult(value) : holderFromTool
}

/** Whether a name is looked up at the scope root (the object with all variables), because the context of the partial lacks it. */
export function yieldsToRoot ({ context, rendering }: Scope, name: string, member: Value | undefined): boolean {
  if (!rendering.isPartial || context !== rendering.dot) return false
  if (member !== undefined && member !== NOTHING && !(member instanceof Absent)) return false
  return isRootName(name, rendering.run)
}
