import { made, memberOf, originated, type Provenance } from '../../../explain/provenance.ts'
import { LazyNode } from '../../../value.ts'
import { type GoValue } from '../../value/go-value.ts'
import { type Body, type Evaluate, type Header, type List, type Write } from '../code.ts'
import { type Machine, tracedOf } from '../machine.ts'
import { type TracedMachine } from './traced-machine.ts'
import { writeList } from '../write-list.ts'

// The functions in this file wrap the closures that run statements, so that these report to the trace (the record of how the output is made). Each
// function is for one kind of statements. What statements of all kinds report is in `write-list.ts`.

/** Makes the closure that runs the body of a defined template (`{{define}}`). The argument of the call becomes the dot and the `$` of that body. */
export function traceBody (body: Body): (machine: Machine, argument: GoValue, before: string) => string {
  return (machine, value, before) => {
    const traced = tracedOf(machine)
    const { dot, argument, slots, list, ofList } = traced
    traced.argument = traced.trace.takeArgument()
    traced.dot = traced.argument
    traced.slots = undefined
    const text = writeList(machine, body.list, value, before)
    traced.dot = dot
    traced.argument = argument
    traced.slots = slots
    traced.list = list
    traced.ofList = ofList
    return text
  }
}

/** Makes a `{{template}}` statement report where the value comes from that it gives to the called template. */
export function traceCall (write: Write): Write {
  return (machine, dot, value, before) => {
    const { trace, from } = tracedOf(machine)
    trace.hand(from)
    return write(machine, dot, value, before)
  }
}

/** Makes the closure that runs the statements inside a `with`. Their dot is the value of the `with`, so the closure notes where that value comes from. */
export function traceWith (list: List): Write {
  return (machine, _dot, value, before) => {
    const traced = tracedOf(machine)
    const { dot } = traced
    traced.dot = traced.from
    const text = writeList(machine, list, value, before)
    traced.dot = dot
    return text
  }
}

/**
 * Makes a `range` note the value that it loops over, and that value's provenance, because the rounds need both. After the loop the value and the
 * provenance of the enclosing `range` are restored. Before the first round the variables in the header have the provenance of the value.
 */
export function traceLoop ({ key, element }: Header, write: Write): Write {
  return (machine, dot, value, before) => {
    const traced = tracedOf(machine)
    const { list, ofList, from } = traced
    traced.list = value
    traced.ofList = from
    if (key >= 0) traced.assign(key, from)
    if (element >= 0) traced.assign(element, from)
    const text = write(machine, dot, value, before)
    traced.list = list
    traced.ofList = ofList
    return text
  }
}

/** Writes one round of a `range`, and notes where the values of the round's dot and variables come from. */
export function writeRoundTraced (machine: Machine, header: Header, body: List, key: GoValue, element: GoValue, before: string): string {
  const traced = tracedOf(machine)
  const { dot } = traced
  const provenance = ofElement(traced, key)
  traced.dot = provenance
  if (header.element >= 0) traced.assign(header.element, provenance)
  // A key has no members, so it can share the provenance of its element.
  if (header.key >= 0) traced.assign(header.key, provenance)
  const text = writeList(machine, body, element, before)
  traced.dot = dot
  return text
}

/** The provenance of an element of a `range`. In a range over a number the elements are no members of the number, but are made from it. */
function ofElement ({ trace, list, ofList }: TracedMachine, key: GoValue): Provenance {
  if (Array.isArray(list) && ofList.source !== undefined) return memberOf(ofList, key as number)
  const found = trace.member(ofList, list, String(key))
  return list instanceof LazyNode || found !== ofList ? found : made([ofList])
}

/** Makes a call report that its value was made from what its arguments have read. */
export function traceMaking (evaluate: Evaluate): Evaluate {
  return (machine, dot) => {
    const { trace } = tracedOf(machine)
    const { mark } = trace
    const value = evaluate(machine, dot)
    trace.seal(mark)
    return value
  }
}

const FALLBACK = originated([{ kind: 'default' }])

/** Makes the fallback of a `default` report that it is used. */
export function traceFallback (evaluate: Evaluate): Evaluate {
  return (machine, dot) => {
    tracedOf(machine).trace.read(FALLBACK)
    return evaluate(machine, dot)
  }
}
