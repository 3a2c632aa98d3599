import { type PathWriter } from '../../explain/piece.ts'
import { made, memberOf, originated, type Provenance } from '../../explain/provenance.ts'
import { LazyNode } from '../../value.ts'
import { intText } from '../fmt/integer.ts'
import { type GoValue } from '../value/go-value.ts'
import { truthOf } from '../value/truth.ts'
import { type Body, type Evaluate, Kind, type Write } from './code.ts'
import { type List, type Step } from './list.ts'
import { type Machine } from './machine.ts'
import { beginsAtRoot, type PlainPath, readPlain } from './plain-path.ts'
import { type Header } from './range.ts'
import { type TracedMachine, tracedOf } from './traced-machine.ts'
import { wayTo } from './tracing-paths.ts'
import { writeList } from './write-list.ts'

// What is noted of statements that are compiled to be explained. What lists do with all of them is here, what else a
// kind of statement does is around its closure.

/** Writes a statement, and tells what is written and where its value comes from. */
export function writeTraced (machine: Machine, traced: TracedMachine, step: Step, dot: GoValue, before: string): string {
  const { path, kind, beforeWriter } = step
  const { trace } = traced
  if (beforeWriter !== undefined) traced.writeText(step.before, beforeWriter)
  const plain = path && readPlain(machine, dot, path)
  if (kind === Kind.Print) return printTraced(machine, traced, step, dot, plain, before)
  const { mark } = trace
  if (kind === Kind.If) {
    // What a condition looks at is no source of anything.
    const value = plain ?? step.evaluate(machine, dot)
    const text = truthOf(value) === true ? writeList(machine, step.list as List, dot, before) : step.write(machine, dot, value, before)
    trace.drop(mark)
    return text
  }
  const way = path && wayTo(machine, traced, dot, path, plain)
  const value = way === undefined ? step.evaluate(machine, dot) : plain
  traced.from = way ?? trace.take(mark)
  const text = step.write(machine, dot, value, before)
  // A branch of the shared variables tells of its names each time that it is tested or gone over.
  trace.drop(mark)
  return text
}

/** The short way is for a path that leads to a text or an integer, as nearly all do. */
function printTraced (machine: Machine, traced: TracedMachine, step: Step, dot: GoValue, plain: GoValue | undefined, before: string): string {
  const { trace, partial } = traced
  const writer = step.writer as PathWriter
  const path = step.path as PlainPath
  if (typeof plain === 'string' || (typeof plain === 'number' && Number.isSafeInteger(plain))) {
    const text = typeof plain === 'string' ? plain : intText(plain)
    const isWritten = beginsAtRoot(machine, dot, path)
      ? trace.writeBelow(text, writer.belowRoot, traced.ofVariables, partial)
      : trace.writeBelow(text, writer.below, traced.provenanceOf(path.slot), partial)
    if (isWritten) return before + text
  }
  const { mark } = trace
  const text = step.write(machine, dot, step.evaluate(machine, dot), '')
  trace.write(text, writer.made, partial, mark)
  return before + text
}

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

/** Keeps what a `range` goes over for its rounds, and what the one around it does. Before the first round its variables hold the list. */
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
