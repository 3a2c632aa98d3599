import { isRootName } from '../../run/scope.ts'
import { dataMember } from '../../data-names.ts'
import { Absent, isToolResult, LazyNode, NOTHING, PENDING, type Value, type ValueObject } from '../../value.ts'
import { type Scope } from './scope.ts'

/**
 * The own member of a value, or `undefined` when it has none of that name. Texts have no members and lists have only
 * elements, so that no property of JavaScript's own is ever found. Members of a pending value are pending, and members of
 * nothing are nothing.
 * @param isOfData what `isDataName` says of the name, for a name that is known before
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

/** What a member that is not there is: nothing inside a tool's result, else absent. */
export function missing (holder: Value, holderFromTool: boolean, path: string): Value {
  return isFromTool(holder, holderFromTool) ? NOTHING : new Absent(path)
}

/** Whether a value belongs to a tool's result; for one that is no container, only its own holder knows. */
export function isFromTool (value: Value, holderFromTool: boolean): boolean {
  return typeof value === 'object' && value !== null ? isToolResult(value) : holderFromTool
}

/** Whether a name is found at the root, because the partial's own context lacks it. */
export function yieldsToRoot ({ context, rendering }: Scope, name: string, member: Value | undefined): boolean {
  if (!rendering.isPartial || context !== rendering.dot) return false
  if (member !== undefined && member !== NOTHING && !(member instanceof Absent)) return false
  return isRootName(name, rendering.run)
}
