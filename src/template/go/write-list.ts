import { type PathWriter } from '../provenance.ts'
import { intText } from './format-number.ts'
import { type GoValue, truthOf } from './go-value.ts'
import { beginsAtRoot, Kind, type List, type PlainPath, readPlain, type Step } from './code.ts'
import { Jump, type Machine, maybe, REAL_JUMPS, skip, type TracedMachine } from './render-state.ts'
import { resolveOrigin } from './trace-paths.ts'

/**
 * Writes a list of statements, and returns `before` followed by their text. Each time, the cost of the list is counted, and the length of the text is
 * compared with its limit.
 *
 * Printed and tested paths of plain data, which are the most frequent statements, are handled here: calling a closure that V8 cannot predict takes
 * longer than the work of the closure.
 * @throws RenderError, or a ServiceError such as RENDER_BUDGET
 */
export function writeList (machine: Machine, list: List, dot: GoValue, before: string): string {
  machine.run.charge(list.cost)
  const { traced } = machine
  const { steps, tail } = list
  let text = before
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index] as Step
    text += step.before
    if (traced === undefined) {
      const { path, kind } = step
      const value = (path && readPlain(machine, dot, path)) ?? step.evaluate(machine, dot)
      if (kind === Kind.Print) text = print(machine, step, dot, value, text)
      else if (kind === Kind.If && truthOf(value) === true) text = writeList(machine, step.list as List, dot, text)
      else text = step.write(machine, dot, value, text)
    } else text = writeTraced(machine, traced, step, dot, text)
    if (text.length > machine.outputLimit) machine.run.checkOutput(text.length)
    if (machine.jump === Jump.None) continue
    if ((machine.jump & REAL_JUMPS) === 0) skipRest(machine, steps, index + 1)
    return text
  }
  if (list.tailWriter !== undefined) traced?.writeText(tail, list.tailWriter)
  return text + tail
}

function print (machine: Machine, step: Step, dot: GoValue, value: GoValue, before: string): string {
  if (typeof value === 'string') return before + value
  if (typeof value === 'number' && Number.isSafeInteger(value)) return before + intText(value)
  return step.write(machine, dot, value, before)
}

/**
 * Skips the rest of a list, because code before it that was skipped (its condition is not known yet) might have jumped. The variables that the rest can
 * assign become pending, and the jumps in the rest count as possible ones.
 */
function skipRest (machine: Machine, steps: readonly Step[], from: number): void {
  for (let index = from; index < steps.length; index++) {
    const { assigns, jumps } = steps[index] as Step
    skip(machine, assigns)
    machine.jump |= maybe(jumps)
  }
}

/** Writes a statement, and reports to the trace what is written and where its value comes from. */
function writeTraced (machine: Machine, traced: TracedMachine, step: Step, dot: GoValue, before: string): string {
  const { path, kind, beforeWriter } = step
  const { trace } = traced
  if (beforeWriter !== undefined) traced.writeText(step.before, beforeWriter)
  const plain = path && readPlain(machine, dot, path)
  if (kind === Kind.Print) return printTraced(machine, traced, step, dot, plain, before)
  const { mark } = trace
  if (kind === Kind.If) {
    // The values in a condition are no origin of anything that is printed.
    const value = plain ?? step.evaluate(machine, dot)
    const text = truthOf(value) === true ? writeList(machine, step.list as List, dot, before) : step.write(machine, dot, value, before)
    trace.drop(mark)
    return text
  }
  const way = path && resolveOrigin(machine, traced, dot, path, plain)
  const value = way === undefined || plain === undefined ? step.evaluate(machine, dot) : plain
  traced.from = way ?? trace.take(mark)
  const text = step.write(machine, dot, value, before)
  // A branch (a group of shared variables) reports its names to the trace each time that it is tested or looped over. These reports are dropped here.
  trace.drop(mark)
  return text
}

/** Prints a value, and reports it in a faster way when the path leads to a text or an integer, as nearly all do. */
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
