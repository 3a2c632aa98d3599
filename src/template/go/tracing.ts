import { type Beside, made, memberOf, originated, type PathWriter, pathWriter, type Provenance } from '../provenance.ts'
import type { Position } from '../tags.ts'
import { LazyNode } from '../value.ts'
import type { GoValue } from './go-value.ts'
import { traceAssignment, traceDot, traceFields, tracePath, traceStart, traceVariable } from './trace-paths.ts'
import { type RenderState, type TracedState, tracedOf } from './render-state.ts'
import type { Body, Evaluate, RangeHeader, List, PlainPath, Write } from './code.ts'
import { writeList } from './write-list.ts'

// Wraps the closures that run statements, to report to the trace. What all kinds report is in `write-list.ts`.

function traceBody (body: Body): (state: RenderState, argument: GoValue, before: string) => string {
  return (state, value, before) => {
    const traced = tracedOf(state)
    const { dot, argument, slots, list, ofList } = traced
    traced.argument = traced.trace.takeArgument()
    traced.dot = traced.argument
    traced.slots = undefined
    const text = writeList(state, body.list, value, before)
    traced.dot = dot
    traced.argument = argument
    traced.slots = slots
    traced.list = list
    traced.ofList = ofList
    return text
  }
}

function traceCall (write: Write): Write {
  return (state, dot, value, before) => {
    const { trace, from } = tracedOf(state)
    trace.hand(from)
    return write(state, dot, value, before)
  }
}

function traceWith (list: List): Write {
  return (state, _dot, value, before) => {
    const traced = tracedOf(state)
    const { dot } = traced
    traced.dot = traced.from
    const text = writeList(state, list, value, before)
    traced.dot = dot
    return text
  }
}

/** Rounds need the value and its provenance; those of the enclosing `range` are restored after the loop. */
function traceLoop ({ key, element }: RangeHeader, write: Write): Write {
  return (state, dot, value, before) => {
    const traced = tracedOf(state)
    const { list, ofList, from } = traced
    traced.list = value
    traced.ofList = from
    if (key >= 0) traced.assign(key, from)
    if (element >= 0) traced.assign(element, from)
    const text = write(state, dot, value, before)
    traced.list = list
    traced.ofList = ofList
    return text
  }
}

export function writeRoundTraced (state: RenderState, header: RangeHeader, body: List, key: GoValue, element: GoValue, before: string): string {
  const traced = tracedOf(state)
  const { dot } = traced
  const provenance = ofElement(traced, key)
  traced.dot = provenance
  if (header.element >= 0) traced.assign(header.element, provenance)
  // A key has no members, so it can share its element's provenance.
  if (header.key >= 0) traced.assign(header.key, provenance)
  const text = writeList(state, body, element, before)
  traced.dot = dot
  return text
}

/** The elements of a number are no members of it, but made from it. */
function ofElement ({ trace, list, ofList }: TracedState, key: GoValue): Provenance {
  if (Array.isArray(list) && ofList.source !== undefined) return memberOf(ofList, key as number)
  const found = trace.member(ofList, list, String(key))
  return list instanceof LazyNode || found !== ofList ? found : made([ofList])
}

function traceMaking (evaluate: Evaluate): Evaluate {
  return (state, dot) => {
    const { trace } = tracedOf(state)
    const { mark } = trace
    const value = evaluate(state, dot)
    trace.seal(mark)
    return value
  }
}

const FALLBACK = originated([{ kind: 'default' }])

function traceFallback (evaluate: Evaluate): Evaluate {
  return (state, dot) => {
    tracedOf(state).trace.read(FALLBACK)
    return evaluate(state, dot)
  }
}

/** Lets closures report to a trace. Explained templates are compiled apart: asking at each expression costs more than most of them do. */
export interface GoTracing {
  readonly isOn: boolean
  readonly dot: Evaluate
  variable (slot: number): Evaluate
  operand (evaluate: Evaluate, find: () => PlainPath | undefined): Evaluate
  start (name: string, evaluate: Evaluate, isOfRoot: (state: RenderState, dot: GoValue, name: string) => boolean): Evaluate
  fields (base: Evaluate, names: readonly string[], read: Evaluate): Evaluate
  assignment (slot: number, evaluate: Evaluate): Evaluate
  making (evaluate: Evaluate): Evaluate
  fallback (evaluate: Evaluate): Evaluate
  writer (at: Position, beside: Beside, names: readonly string[]): PathWriter | undefined
  call (write: Write): Write
  body (body: Body): (state: RenderState, argument: GoValue, before: string) => string
  loop (header: RangeHeader, write: Write): Write
  inner (list: List): Write
}

const readDot: Evaluate = (_machine, dot) => dot

export const UNTRACED: GoTracing = {
  isOn: false,
  dot: readDot,
  variable: slot => state => state.variables[slot] ?? null,
  operand: evaluate => evaluate,
  start: (_name, evaluate) => evaluate,
  // Fields of the dot are the most frequent expressions: no further call.
  fields: (base, _names, read) => base === readDot ? read : (state, dot) => read(state, base(state, dot)),
  assignment: (_slot, evaluate) => evaluate,
  making: evaluate => evaluate,
  fallback: evaluate => evaluate,
  writer: () => undefined,
  call: write => write,
  body: body => (state, argument, before) => writeList(state, body.list, argument, before),
  loop: (_header, write) => write,
  inner: list => (state, _dot, value, before) => writeList(state, list, value, before)
}

export const TRACED: GoTracing = {
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
