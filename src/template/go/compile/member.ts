import { dataMember } from '../../data-names.ts'
import { Absent, isToolResult, LazyNode, NOTHING, PENDING } from '../../value.ts'
import { type Node } from '../syntax/node.ts'
import { isGoDataName } from '../value/data-names.ts'
import { type GoMap, type GoValue } from '../value/go-value.ts'
import { kindOf, typeName } from '../value/kind.ts'
import { joinPath } from './join-path.ts'
import { type Machine } from './machine.ts'
import { type Context, failure } from './unit.ts'

/**
 * Reads one field of a value.
 * @param path the field's path, for the message when it is missing
 * @param isBoxed whether Go would have the value in a variable of type `interface {}`, which its messages then name
 */
export type Member = (machine: Machine, receiver: GoValue, name: string, path: string, isBoxed: boolean) => GoValue

/** Makes the function that reads fields. @param names the names of all fields that it will read @param last gives the node that messages name */
export function memberOf (context: Context, names: readonly string[], last: (machine: Machine) => Node): Member {
  const careful = carefulMember(context, last)
  return names.every(isGoDataName) ? quickMember(careful) : careful
}

/**
 * Makes the function that reads a field of a template's argument. A name that the argument lacks and the scope root (the object with all variables) has
 * is read at the root.
 */
export function memberOrRoot (context: Context, name: string, node: Node, isOfRoot: (machine: Machine, argument: GoValue, name: string) => boolean): Member {
  const member = carefulMember(context, () => node)
  const either: Member = (machine, receiver, name, path, isBoxed) =>
    isOfRoot(machine, receiver, name) ? machine.root.field(name) : member(machine, receiver, name, path, isBoxed)
  return isGoDataName(name) ? quickMember(either) : either
}

/**
 * Makes the faster function that reads a field whose name is none of JavaScript's own properties: a value with such a member is a map, and needs no
 * further check.
 * @param careful reads the field in all other cases
 */
function quickMember (careful: Member): Member {
  return (machine, receiver, name, path, isBoxed) => {
    if (typeof receiver !== 'object' || receiver === null) return careful(machine, receiver, name, path, isBoxed)
    const value = dataMember(receiver, name)
    if (value === undefined) return careful(machine, receiver, name, path, isBoxed)
    return value === null && isToolResult(receiver) ? NOTHING : value
  }
}

/** Makes the function that reads a field with all checks. For a missing field it gives an `Absent` or, inside a tool's result, `NOTHING`. */
function carefulMember (context: Context, last: (machine: Machine) => Node): Member {
  return (machine, receiver, name, path, isBoxed) => {
    if (receiver === null) {
      if (!isBoxed) return new Absent(path)
      throw failure(context, last(machine), `nil pointer evaluating interface {}.${name}`)
    }
    if (receiver === PENDING || receiver === NOTHING) return receiver
    if (receiver instanceof LazyNode) return receiver.field(name)
    if (receiver instanceof Absent) return new Absent(joinPath(receiver.path, name))
    if (kindOf(receiver) === 'map') return memberOfMap(receiver as GoMap, name, path)
    if (Array.isArray(receiver) && isToolResult(receiver)) return NOTHING
    throw failure(context, last(machine), cannotEvaluate(receiver, name, isBoxed))
  }
}

function memberOfMap (map: GoMap, name: string, path: string): GoValue {
  const value = Object.hasOwn(map, name) ? map[name] : undefined
  if (isToolResult(map)) return value ?? NOTHING
  return value === undefined ? new Absent(path) : value
}

function cannotEvaluate (receiver: GoValue, name: string, isBoxed: boolean): string {
  return `can't evaluate field ${name} in type ${isBoxed ? 'interface {}' : typeName(receiver)}`
}
