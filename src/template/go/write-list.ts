import { type PathWriter } from '../provenance.ts'
import { intText } from './format-number.ts'
import { type GoValue, truthOf } from './go-value.ts'
import { beginsAtRoot, Kind, type List, type PlainPath, readPlain, type ListStep } from './code.ts'
import { Jump, type RenderState, maybe, REAL_JUMPS, skip, type TracedState } from './render-state.ts'
import { resolveOrigin } from './trace-paths.ts'

/** Frequent statements are inline: V8 cannot predict closure calls. @throws RenderError, or a ServiceError such as RENDER_BUDGET */
export function writeList (state: RenderState, list: List, dot: GoValue, before: string): string {
  state.run.charge(list.cost)
  const { traced } = state
  const { steps, tail } = list
  let text = before
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index] as ListStep
    text += step.before
    if (traced === undefined) {
      const { path, kind } = step
      const value = (path && readPlain(state, dot, path)) ?? step.evaluate(state, dot)
      if (kind === Kind.Print) text = print(state, step, dot, value, text)
      else if (kind === Kind.If && truthOf(value) === true) text = writeList(state, step.list as List, dot, text)
      else text = step.write(state, dot, value, text)
    } else text = writeTraced(state, traced, step, dot, text)
    if (text.length > state.outputLimit) state.run.checkOutput(text.length)
    if (state.jump === Jump.None) continue
    if ((state.jump & REAL_JUMPS) === 0) skipRest(state, steps, index + 1)
    return text
  }
  if (list.tailWriter !== undefined) traced?.writeText(tail, list.tailWriter)
  return text + tail
}

function print (state: RenderState, step: ListStep, dot: GoValue, value: GoValue, before: string): string {
  if (typeof value === 'string') return before + value
  if (typeof value === 'number' && Number.isSafeInteger(value)) return before + intText(value)
  return step.write(state, dot, value, before)
}

/** Skipped code might have jumped: what the rest assigns becomes pending, and its jumps possible. */
function skipRest (state: RenderState, steps: readonly ListStep[], from: number): void {
  for (let index = from; index < steps.length; index++) {
    const { assigns, jumps } = steps[index] as ListStep
    skip(state, assigns)
    state.jump |= maybe(jumps)
  }
}

function writeTraced (state: RenderState, traced: TracedState, step: ListStep, dot: GoValue, before: string): string {
  const { path, kind, beforeWriter } = step
  const { trace } = traced
  if (beforeWriter !== undefined) traced.writeText(step.before, beforeWriter)
  const plain = path && readPlain(state, dot, path)
  if (kind === Kind.Print) return printTraced(state, traced, step, dot, plain, before)
  const { mark } = trace
  if (kind === Kind.If) {
    // The values in a condition are no origin of anything that is printed.
    const value = plain ?? step.evaluate(state, dot)
    const text = truthOf(value) === true ? writeList(state, step.list as List, dot, before) : step.write(state, dot, value, before)
    trace.drop(mark)
    return text
  }
  const way = path && resolveOrigin(state, traced, dot, path, plain)
  const value = way === undefined || plain === undefined ? step.evaluate(state, dot) : plain
  traced.from = way ?? trace.take(mark)
  const text = step.write(state, dot, value, before)
  // Drops the names that a branch reports each time it is tested or looped over.
  trace.drop(mark)
  return text
}

function printTraced (state: RenderState, traced: TracedState, step: ListStep, dot: GoValue, plain: GoValue | undefined, before: string): string {
  const { trace, partial } = traced
  const writer = step.writer as PathWriter
  const path = step.path as PlainPath
  if (typeof plain === 'string' || (typeof plain === 'number' && Number.isSafeInteger(plain))) {
    const text = typeof plain === 'string' ? plain : intText(plain)
    const isWritten = beginsAtRoot(state, dot, path)
      ? trace.writeBelow(text, writer.belowRoot, traced.ofVariables, partial)
      : trace.writeBelow(text, writer.below, traced.provenanceOf(path.slot), partial)
    if (isWritten) return before + text
  }
  const { mark } = trace
  const text = step.write(state, dot, step.evaluate(state, dot), '')
  trace.write(text, writer.made, partial, mark)
  return before + text
}
