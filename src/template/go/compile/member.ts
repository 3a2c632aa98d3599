import { Absent, isToolResult, LazyNode, NOTHING, PENDING } from '../../value.ts'
import { quoteText } from '../fmt/quote.ts'
import { type Node } from '../syntax/node.ts'
import { type GoMap, type GoValue } from '../value/go-value.ts'
import { kindOf, typeName } from '../value/kind.ts'
import { type Machine } from './machine.ts'
import { type Context, failure } from './unit.ts'

/**
 * Reads one field of a value. `path` names it where it is not there; `isBoxed` tells, where that matters, whether Go
 * would hold the receiver as an interface.
 */
export type Member = (machine: Machine, receiver: GoValue, name: string, path: string, isBoxed: Boxing) => GoValue

type Boxing = (machine: Machine) => boolean

/** How fields are read under the rules of an engine; `last` is the node that messages name. */
export function memberOf (context: Context, last: (machine: Machine) => Node): Member {
  return context.unit.hasGoValues ? goMember(context, last) : serviceMember(context, last)
}

/** Fields as the service has them: what is missing is absent, or nothing inside a tool's result. */
function serviceMember (context: Context, last: (machine: Machine) => Node): Member {
  const special = specialMember(context, last)
  return (machine, receiver, name, path, isBoxed) => {
    if (typeof receiver !== 'object' || receiver === null) return special(machine, receiver, name, path, isBoxed)
    const prototype: unknown = Object.getPrototypeOf(receiver)
    if (prototype !== Object.prototype && prototype !== null) return special(machine, receiver, name, path, isBoxed)
    if (!Object.hasOwn(receiver, name)) return isToolResult(receiver) ? NOTHING : new Absent(path)
    const value = (receiver as GoMap)[name]
    return value === null && isToolResult(receiver) ? NOTHING : value
  }
}

function specialMember (context: Context, last: (machine: Machine) => Node): Member {
  return (machine, receiver, name, path, isBoxed) => {
    if (typeof receiver === 'object' && receiver !== null) {
      if (receiver === PENDING || receiver === NOTHING) return receiver
      if (receiver instanceof LazyNode) return receiver.field(name)
      if (receiver instanceof Absent) return new Absent(`${receiver.path}.${name}`)
      if (Array.isArray(receiver) && isToolResult(receiver)) return NOTHING
    } else if (receiver === null || receiver === undefined) {
      if (!isBoxed(machine)) return new Absent(path)
      throw failure(context, last(machine), `nil pointer evaluating interface {}.${name}`)
    }
    throw failure(context, last(machine), cannotEvaluate(receiver, name, isBoxed(machine)))
  }
}

/** Fields as Go has them, with its option `missingkey`. */
function goMember (context: Context, last: (machine: Machine) => Node): Member {
  const { missingKey } = context.unit.rules
  return (machine, receiver, name, _path, isBoxed) => {
    if (receiver === undefined || (receiver === null && !isBoxed(machine))) {
      if (missingKey === 'error') throw failure(context, last(machine), `nil data; no entry for key ${quoteText(name)}`)
      return undefined
    }
    if (receiver === null) throw failure(context, last(machine), `nil pointer evaluating interface {}.${name}`)
    if (kindOf(receiver) !== 'map') throw failure(context, last(machine), cannotEvaluate(receiver, name, isBoxed(machine)))
    const map = receiver as GoMap
    if (Object.hasOwn(map, name)) return map[name]
    if (missingKey === 'error') throw failure(context, last(machine), `map has no entry for key ${quoteText(name)}`)
    return missingKey === 'zero' ? null : undefined
  }
}

function cannotEvaluate (receiver: GoValue, name: string, isBoxed: boolean): string {
  return `can't evaluate field ${name} in type ${isBoxed ? 'interface {}' : typeName(receiver)}`
}
