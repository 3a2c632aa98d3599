import { made, memberOf, originated, type Provenance } from '../../../explain/provenance.ts'
import { LazyNode } from '../../../value.ts'
import { type GoValue } from '../../value/go-value.ts'
import { type Body, type Evaluate, type Header, type List, type Write } from '../code.ts'
import { type Machine, tracedOf } from '../machine.ts'
import { type TracedMachine } from './traced-machine.ts'
import { writeList } from '../write-list.ts'

// What is noted of statements that are compiled to be explained. What lists do with all statements is in `write-list.ts`;
// what a kind of statement adds is around its closure, here.

/** Runs a body that a template defines with its argument as dot and `$`. */
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

/** Says where that comes from which a template is called with. */
export function traceCall (write: Write): Write {
  return (machine, dot, value, before) => {
    const { trace, from } = tracedOf(machine)
    trace.hand(from)
    return write(machine, dot, value, before)
  }
}

/** Writes the list of a `with`, and says where its dot comes from. */
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
 * Keeps what a `range` goes over for its rounds, and puts back what the range around it goes over. Before the first round the
 * header's variables hold the list.
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

/** Writes a round, and says where its dot and its variables come from. */
export function writeRoundTraced (machine: Machine, header: Header, body: List, key: GoValue, element: GoValue, before: string): string {
  const traced = tracedOf(machine)
  const { dot } = traced
  const provenance = ofElement(traced, key)
  traced.dot = provenance
  if (header.element >= 0) traced.assign(header.element, provenance)
  // The key has the origins of its element, and no members.
  if (header.key >= 0) traced.assign(header.key, provenance)
  const text = writeList(machine, body, element, before)
  traced.dot = dot
  return text
}

/** Of what is no list, map or branch, such as a number, the rounds are not members. */
function ofElement ({ trace, list, ofList }: TracedMachine, key: GoValue): Provenance {
  if (Array.isArray(list) && ofList.source !== undefined) return memberOf(ofList, key as number)
  const found = trace.member(ofList, list, String(key))
  return list instanceof LazyNode || found !== ofList ? found : made([ofList])
}

/** Says that a call's value is made of what its arguments read. */
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

/** Says that a fallback is used. */
export function traceFallback (evaluate: Evaluate): Evaluate {
  return (machine, dot) => {
    tracedOf(machine).trace.read(FALLBACK)
    return evaluate(machine, dot)
  }
}
