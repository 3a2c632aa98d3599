import { type Beside, type PathWriter, pathWriter } from '../../explain/piece.ts'
import { type Position } from '../../position.ts'
import { type GoValue } from '../value/go-value.ts'
import { type Body, type Evaluate, type Header, type List, type PlainPath, type Write } from './code.ts'
import { traceAssignment, traceDot, traceFields, tracePath, traceStart, traceVariable } from './explain/trace-paths.ts'
import { traceBody, traceCall, traceFallback, traceLoop, traceMaking, traceWith } from './explain/trace-statements.ts'
import { type Machine } from './machine.ts'
import { writeList } from './write-list.ts'

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
