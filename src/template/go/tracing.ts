import { type Beside, made, memberOf, originated, type PathWriter, pathWriter, type Provenance } from '../provenance.ts'
import type { Position } from '../tags.ts'
import { LazyNode } from '../value.ts'
import type { GoValue } from './go-value.ts'
import { traceAssignment, traceDot, traceFields, tracePath, traceStart, traceVariable } from './trace-paths.ts'
import { type Machine, type TracedMachine, tracedOf } from './render-state.ts'
import type { Body, Evaluate, Header, List, PlainPath, Write } from './code.ts'
import { writeList } from './write-list.ts'

// The functions in this file wrap the closures that run statements, so that these report to the trace (the record of how the output is made). Each
// function is for one kind of statements. What statements of all kinds report is in `write-list.ts`.

/** Makes the closure that runs the body of a defined template (`{{define}}`). The argument of the call becomes the dot and the `$` of that body. */
function traceBody (body: Body): (machine: Machine, argument: GoValue, before: string) => string {
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
function traceCall (write: Write): Write {
  return (machine, dot, value, before) => {
    const { trace, from } = tracedOf(machine)
    trace.hand(from)
    return write(machine, dot, value, before)
  }
}

/** Makes the closure that runs the statements inside a `with`. Their dot is the value of the `with`, so the closure notes where that value comes from. */
function traceWith (list: List): Write {
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
function traceLoop ({ key, element }: Header, write: Write): Write {
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
function traceMaking (evaluate: Evaluate): Evaluate {
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
function traceFallback (evaluate: Evaluate): Evaluate {
  return (machine, dot) => {
    tracedOf(machine).trace.read(FALLBACK)
    return evaluate(machine, dot)
  }
}

/** Runs the body of a defined template (`{{define}}`), with `argument` as its dot and `$`. Gives the text `before`, followed by the output of the body. */
export type WriteBody = (machine: Machine, argument: GoValue, before: string) => string

/**
 * Wraps the closures that a compile makes, either so that they report to a trace what they read and write, or not at all. A template that is explained
 * (where does each piece of its output come from?) is compiled separately: asking at each expression whether there is a trace would take longer than most
 * expressions do.
 */
export interface Tracing {
  /** Whether reports are on, so that pieces of the template's text are reported, too. */
  readonly isOn: boolean
  /** The expression that gives the dot. */
  readonly dot: Evaluate
  variable (slot: number): Evaluate
  /** Wraps the closure that evaluates an operand, so that it can report what it reads. @param find gives the operand's `PlainPath`, if it has one */
  operand (evaluate: Evaluate, find: () => PlainPath | undefined): Evaluate
  /** Wraps the closure that reads a path's first field, so that it can report which one. @param isOfRoot tells whether the field is one of the scope root */
  start (name: string, evaluate: Evaluate, isOfRoot: (machine: Machine, dot: GoValue, name: string) => boolean): Evaluate
  /** Wraps `read`, the closure that reads fields in the value which `base` gives, so that it can report which member was read. */
  fields (base: Evaluate, names: readonly string[], read: Evaluate): Evaluate
  assignment (slot: number, evaluate: Evaluate): Evaluate
  /** Wraps the closure of a function call, so that it can report what the result was made from. */
  making (evaluate: Evaluate): Evaluate
  fallback (evaluate: Evaluate): Evaluate
  /** Makes the description of a statement's output for the explanation. */
  writer (at: Position, beside: Beside, names: readonly string[]): PathWriter | undefined
  call (write: Write): Write
  body (body: Body): WriteBody
  loop (header: Header, write: Write): Write
  /** Makes the closure that runs the statements inside a `with`. Their dot is the value of the `with`. */
  inner (list: List): Write
}

const readDot: Evaluate = (_machine, dot) => dot

/** Wraps nothing, for templates that are not explained. */
export const UNTRACED: Tracing = {
  isOn: false,
  dot: readDot,
  variable: slot => machine => machine.variables[slot] ?? null,
  operand: evaluate => evaluate,
  start: (_name, evaluate) => evaluate,
  // Fields of the dot are the most frequent expressions, so they are read without a further call.
  fields: (base, _names, read) => base === readDot ? read : (machine, dot) => read(machine, base(machine, dot)),
  assignment: (_slot, evaluate) => evaluate,
  making: evaluate => evaluate,
  fallback: evaluate => evaluate,
  writer: () => undefined,
  call: write => write,
  body: body => (machine, argument, before) => writeList(machine, body.list, argument, before),
  loop: (_header, write) => write,
  inner: list => (machine, _dot, value, before) => writeList(machine, list, value, before)
}

/** Wraps the closures so that they report to the trace of the run. */
export const TRACED: Tracing = {
  isOn: true,
  dot: traceDot,
  variable: traceVariable,
  operand: tracePath,
  start: traceStart,
  fields: traceFields,
  assignment: traceAssignment,
  making: traceMaking,
  fallback: traceFallback,
  writer: pathWriter,
  call: traceCall,
  body: traceBody,
  loop: traceLoop,
  inner: traceWith
}
