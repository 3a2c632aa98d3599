import { type PathWriter } from '../provenance.ts'
import { intText } from './format-number.ts'
import { type GoValue, truthOf } from './go-value.ts'
import { beginsAtRoot, Kind, type List, type PlainPath, readPlain, type ListStep } from './code.ts'
import { Jump, type RenderState, maybe, REAL_JUMPS, skip, type TracedState } from './render-state.ts'
import { resolveOrigin } from './trace-paths.ts'

/** Frequent statements are inline: V8 cannot predict closure calls. @throws RenderError, or a ServiceError such as RENDER_BUDGET */
export function writeList (machine: RenderState, list: List, dot: GoValue, before: string): string {
  machine.run.charge(list.cost)
  const { traced } = machine
  const { steps, tail } = list
  let text = before
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index] as ListStep
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

function print (machine: RenderState, step: ListStep, dot: GoValue, value: GoValue, before: string): string {
  if (typeof value === 'string') return before + value
  if (typeof value === 'number' && Number.isSafeInteger(value)) return before + intText(value)
  return step.write(machine, dot, value, before)
}

/** Skipped code might have jumped: what the rest assigns becomes pending, and its jumps possible. */
function skipRest (machine: RenderState, steps: readonly ListStep[], from: number): void {
  for (let index = from; index < steps.length; index++) {
    const { assigns, jumps } = steps[index] as ListStep
    skip(machine, assigns)
    machine.jump |= maybe(jumps)
  }
}

function writeTraced (machine: RenderState, traced: TracedState, step: ListStep, dot: GoValue, before: string): string {
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
  // Drops the names that a branch reports each time it is tested or looped over.
  trace.drop(mark)
  return text
}

function printTraced (machine: RenderState, traced: TracedState, step: ListStep, dot: GoValue, plain: GoValue | undefined, before: string): string {
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
