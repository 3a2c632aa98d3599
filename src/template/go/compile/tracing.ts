import { type Literal, literalWriter } from '../../trace/piece.ts'
import { made, memberOf, originated, type Provenance } from '../../trace/provenance.ts'
import { LazyNode } from '../../value.ts'
import { type GoValue } from '../value/go-value.ts'
import { type Body, type Evaluate, type Write } from './code.ts'
import { type Machine } from './machine.ts'
import { type Header } from './range.ts'
import { type TracedMachine, tracedOf } from './traced-machine.ts'

// What a source that is compiled to be explained has around its closures.

/** Runs a body that a template defines with its argument as dot and `$`. */
export function traceBody (body: Body): Write {
  return (machine, value) => {
    const traced = tracedOf(machine)
    const { dot, argument, slots, list, ofList } = traced
    traced.argument = traced.trace.takeArgument()
    traced.dot = traced.argument
    traced.slots = undefined
    const text = body.write(machine, value)
    traced.dot = dot
    traced.argument = argument
    traced.slots = slots
    traced.list = list
    traced.ofList = ofList
    return text
  }
}

/** Tells of a piece of the template's text, which the list itself writes. */
export function traceLiteral (literal: Literal): Write {
  const writer = literalWriter(literal)
  return machine => {
    const { trace, partial } = tracedOf(machine)
    trace.writeLiteral(literal.text, writer, partial)
    return ''
  }
}

/**
 * Makes a statement one that tells of the text before it.
 * @param leavesReads what it reads is forgotten after it; a template takes all that is read for it
 */
export function traceStatement (write: Write, before: Literal | undefined, leavesReads: boolean): Write {
  const clean = leavesReads ? forgetting(write) : write
  if (before === undefined) return clean
  const writer = literalWriter(before)
  return (machine, dot) => {
    const { trace, partial } = tracedOf(machine)
    trace.writeLiteral(before.text, writer, partial)
    return clean(machine, dot)
  }
}

function forgetting (write: Write): Write {
  return (machine, dot) => {
    const { trace } = tracedOf(machine)
    const { mark } = trace
    const text = write(machine, dot)
    trace.drop(mark)
    return text
  }
}

/** Keeps what the header of a `with` reads for its list. */
export function traceHeader (evaluate: Evaluate): Evaluate {
  return (machine, dot) => {
    const traced = tracedOf(machine)
    const { mark } = traced.trace
    const value = evaluate(machine, dot)
    traced.header = traced.trace.take(mark)
    return value
  }
}

/** Says where the dot of a `with` comes from. */
export function traceWith (write: Write): Write {
  return (machine, value) => {
    const traced = tracedOf(machine)
    const { dot } = traced
    traced.dot = traced.header
    const text = write(machine, value)
    traced.dot = dot
    return text
  }
}

/** Keeps the loop that a `range` is in, since its header replaces it. */
export function traceLoop (write: Write): Write {
  return (machine, dot) => {
    const traced = tracedOf(machine)
    const { list, ofList } = traced
    const text = write(machine, dot)
    traced.list = list
    traced.ofList = ofList
    return text
  }
}

/** Keeps what the header of a `range` reads for the rounds; before the first one its variables hold the list. */
export function traceLoopHeader ({ key, element }: Header, evaluate: Evaluate): Evaluate {
  return (machine, dot) => {
    const traced = tracedOf(machine)
    const { mark } = traced.trace
    const value = evaluate(machine, dot)
    const provenance = traced.trace.take(mark)
    traced.list = value
    traced.ofList = provenance
    if (key >= 0) traced.assign(key, provenance)
    if (element >= 0) traced.assign(element, provenance)
    return value
  }
}

/** Says where the dot and the variables of a round come from. */
export function traceRound (header: Header, write: Write): (machine: Machine, element: GoValue, key: GoValue) => string {
  return (machine, element, key) => {
    const traced = tracedOf(machine)
    const { dot } = traced
    const provenance = ofElement(traced, key)
    traced.dot = provenance
    if (header.element >= 0) traced.assign(header.element, provenance)
    // The key has the origins of its element, and no members.
    if (header.key >= 0) traced.assign(header.key, provenance)
    const text = write(machine, element)
    traced.dot = dot
    return text
  }
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
