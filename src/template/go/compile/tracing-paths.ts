import { type Position } from '../../language.ts'
import { type Beside, pathWriter, type PathWriter, writerAt } from '../../trace/piece.ts'
import { NOWHERE, type Provenance } from '../../trace/provenance.ts'
import { intText } from '../fmt/integer.ts'
import { type GoValue } from '../value/go-value.ts'
import { type Evaluate, type Write } from './code.ts'
import { type Machine } from './machine.ts'
import { type TracedMachine, tracedOf } from './traced-machine.ts'

// What a path that is compiled to be explained has around its closures, and what prints it or hands it on.

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
