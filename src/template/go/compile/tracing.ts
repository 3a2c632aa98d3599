import { type Position } from '../../language.ts'
import { type Beside, type Literal, literalWriter, pathWriter, type PathWriter, writerAt } from '../../trace/piece.ts'
import { made, memberOf, NOWHERE, originated, type Provenance } from '../../trace/provenance.ts'
import { traceOf } from '../../trace/trace-of.ts'
import { type Trace } from '../../trace/trace.ts'
import { LazyNode } from '../../value.ts'
import { intText } from '../fmt/integer.ts'
import { type GoValue } from '../value/go-value.ts'
import { type Evaluate, type Write } from './code.ts'
import { type Machine } from './machine.ts'
import { type Header } from './range.ts'

// What a source that is compiled to be explained has around its closures.

/** Where the dot and the variables of the body that runs come from. */
export class TracedMachine {
  readonly trace: Trace
  /** Whose template it is, if that of a partial. */
  readonly partial: string | undefined
  dot: Provenance
  /** That of `$`. */
  argument: Provenance
  /** Parallel to `Machine.variables`, but for `$`. */
  slots: Provenance[] | undefined = undefined
  /** What the header of the `with` has read whose list comes next. */
  header = NOWHERE
  /** What the innermost `range` that runs goes over, and where that comes from. */
  list: GoValue = undefined
  ofList = NOWHERE

  constructor (trace: Trace) {
    this.trace = trace
    this.partial = trace.takePartial()
    this.argument = trace.takeArgument()
    this.dot = this.argument
  }

  assign (slot: number, provenance: Provenance): void {
    this.slots ??= []
    this.slots[slot] = provenance
  }
}

function tracedOf ({ traced }: Machine): TracedMachine {
  return traced as TracedMachine
}

/** Begins a body with its argument as dot and `$`: the template itself, or one that it defines. */
export function traceBody (write: Write): Write {
  return (machine, argument) => {
    const { traced } = machine
    if (traced === undefined) {
      machine.traced = new TracedMachine(traceOf(machine.run))
      return write(machine, argument)
    }
    const { dot, argument: outer, slots, list, ofList } = traced
    traced.argument = traced.trace.takeArgument()
    traced.dot = traced.argument
    traced.slots = undefined
    const text = write(machine, argument)
    traced.dot = dot
    traced.argument = outer
    traced.slots = slots
    traced.list = list
    traced.ofList = ofList
    return text
  }
}

/**
 * Says what a template is called with.
 * @param path what is known of it, if it is a path
 */
export function traceArgument (evaluate: Evaluate, path: TracedPath | undefined): Evaluate {
  const evaluateOther = traceOther(evaluate)
  if (path === undefined) return evaluateOther
  const { evaluate: evaluatePath, names, slot } = path
  return (machine, dot) => {
    const traced = tracedOf(machine)
    const { trace } = traced
    const { mark } = trace
    const value = evaluatePath(machine, dot)
    const way = trace.wayTo(startOf(traced, slot), names, value, mark)
    if (way === undefined) return evaluateOther(machine, dot)
    trace.hand(way)
    return value
  }
}

function traceOther (evaluate: Evaluate): Evaluate {
  return (machine, dot) => {
    const { trace } = tracedOf(machine)
    const { mark } = trace
    const value = evaluate(machine, dot)
    trace.hand(trace.take(mark))
    return value
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

/** What is known of a path whose value lies below something that the machine knows the provenance of. */
export interface TracedPath {
  /** Gives its value and tells the trace nothing; what is read at the scope root is told all the same. */
  readonly evaluate: Evaluate
  /** The names that lead there from its beginning. */
  readonly names: readonly string[]
  /** The variable that it begins with; -1 for the dot. */
  readonly slot: number
}

function startOf ({ dot, argument, slots }: TracedMachine, slot: number): Provenance {
  if (slot < 0) return dot
  return slots?.[slot] ?? (slot === 0 ? argument : NOWHERE)
}

/** Makes a span of what an expression prints. */
export function traceWriting (write: Write, path: TracedPath | undefined, at: Position, beside: Beside): Write {
  const writer = writerAt(at, beside)
  const writeOther: Write = (machine, dot) => {
    const { trace, partial } = tracedOf(machine)
    const { mark } = trace
    const text = write(machine, dot)
    trace.write(text, writer, partial, mark)
    return text
  }
  return path === undefined ? writeOther : tracePathWriting(path, pathWriter(at, beside, path.names), writeOther)
}

/** The short way for a path that gives a text or an integer, as nearly all do. */
function tracePathWriting ({ evaluate, slot }: TracedPath, writer: PathWriter, writeOther: Write): Write {
  return (machine, dot) => {
    const traced = tracedOf(machine)
    const { trace } = traced
    const { mark } = trace
    const value = evaluate(machine, dot)
    if (typeof value === 'string' || Number.isSafeInteger(value)) {
      const text = typeof value === 'string' ? value : intText(value as number)
      if (trace.writePath(text, writer, startOf(traced, slot), mark, traced.partial)) return text
    }
    trace.drop(mark)
    return writeOther(machine, dot)
  }
}

/** Says what a path reads, the short way if it can. */
export function tracePath ({ evaluate, names, slot }: TracedPath, evaluateOther: Evaluate): Evaluate {
  return (machine, dot) => {
    const traced = tracedOf(machine)
    const { trace } = traced
    const { mark } = trace
    const value = evaluate(machine, dot)
    const way = trace.wayTo(startOf(traced, slot), names, value, mark)
    if (way === undefined) return evaluateOther(machine, dot)
    trace.read(way)
    return value
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

export const traceDot: Evaluate = (machine, value) => {
  const { trace, dot } = tracedOf(machine)
  trace.read(dot)
  return value
}

export function traceVariable (slot: number): Evaluate {
  return machine => {
    const traced = tracedOf(machine)
    traced.trace.read(startOf(traced, slot))
    return machine.variables[slot]
  }
}

/** Keeps where a variable's value comes from. */
export function traceAssignment (slot: number, evaluate: Evaluate): Evaluate {
  return (machine, dot) => {
    const traced = tracedOf(machine)
    const { trace } = traced
    const { mark } = trace
    const value = evaluate(machine, dot)
    const provenance = trace.take(mark)
    traced.assign(slot, provenance)
    trace.read(provenance)
    return value
  }
}

/** Reads the fields of a value. */
export type ReadFields = (machine: Machine, receiver: GoValue) => GoValue

/** Says which fields of an operand are read. */
export function traceFields (base: Evaluate, names: readonly string[], read: ReadFields): Evaluate {
  return (machine, dot) => {
    const { trace } = tracedOf(machine)
    const { mark } = trace
    const receiver = base(machine, dot)
    const provenance = trace.take(mark)
    const value = read(machine, receiver)
    trace.drop(mark)
    trace.follow(provenance, receiver, names)
    return value
  }
}

/** Says what the first field of a path reads, where that may be one of the scope root. */
export function traceStart (name: string, evaluate: Evaluate, isOfRoot: (machine: Machine, dot: GoValue, name: string) => boolean): Evaluate {
  return (machine, dot) => {
    const traced = tracedOf(machine)
    const { trace } = traced
    const { mark } = trace
    const value = evaluate(machine, dot)
    const ofRoot = isOfRoot(machine, dot, name)
    trace.drop(mark)
    if (ofRoot) trace.follow(NOWHERE, machine.root, [name])
    else trace.follow(traced.dot, dot, [name])
    return value
  }
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
