import { below, NOWHERE, type Provenance } from '../provenance.ts'
import type { ScopeRoot } from '../scope.ts'
import type { Position } from '../tags.ts'
import { isData } from '../value.ts'
import { intText } from './format-number.ts'
import { type GoValue, truthOf } from './go-value.ts'
import { beginsAtRoot, Kind, type List, type PlainPath, readPlain, type ListStep } from './code.ts'
import { Jump, maybe, REAL_JUMPS, type RenderState, skip, type TraceFrame } from './render-state.ts'

/** Frequent statements are inline: V8 cannot predict closure calls. @throws RenderError, or a ServiceError such as RENDER_BUDGET */
export function writeList (state: RenderState, list: List, dot: GoValue, before: string): string {
  state.run.charge(list.cost)
  const { frame } = state
  const { steps, tail } = list
  let text = before
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index] as ListStep
    text += step.before
    if (frame === undefined) {
      const { path, kind } = step
      const value = (path && readPlain(state, dot, path)) ?? step.evaluate(state, dot)
      if (kind === Kind.Print) text = print(state, step, dot, value, text)
      else if (kind === Kind.If && truthOf(value) === true) text = writeList(state, step.list as List, dot, text)
      else text = step.write(state, dot, value, text)
    } else text = writeExplained(state, frame, step, dot, text)
    if (text.length > state.outputLimit) state.run.checkOutput(text.length)
    if (state.jump === Jump.None) continue
    if ((state.jump & REAL_JUMPS) === 0) skipRest(state, steps, index + 1)
    return text
  }
  if (frame !== undefined) for (const literal of list.tailTexts) frame.trace.printLiteral(literal, state.run.within)
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

function writeExplained (state: RenderState, frame: TraceFrame, step: ListStep, dot: GoValue, before: string): string {
  const { path, kind, at } = step
  const { trace } = frame
  const { within } = state.run
  for (const literal of step.beforeTexts) trace.printLiteral(literal, within)
  const { mark } = trace
  const plain = path && readPlain(state, dot, path)
  const origin = path && originOf(state, frame, dot, path, plain)
  const value = origin === undefined || plain === undefined ? step.evaluate(state, dot) : plain
  if (kind === Kind.Print) {
    const text = step.write(state, dot, value, '')
    trace.print(text, at as Position, origin ?? trace.take(mark), within)
    return before + text
  }
  // The values in a condition are no origin of anything that is printed.
  frame.from = origin ?? (kind === Kind.If ? NOWHERE : trace.take(mark))
  const text = step.write(state, dot, value, before)
  // Drops the names that a branch reports each time it is tested or looped over.
  trace.drop(mark)
  return text
}

/** `undefined` unless the path leads to data. */
function originOf (state: RenderState, frame: TraceFrame, dot: GoValue, path: PlainPath, value: GoValue | undefined): Provenance | undefined {
  if (!isData(value)) return undefined
  return beginsAtRoot(state, dot, path) ? below((state.root as ScopeRoot).ofVariables(), path.rest) : below(frame.provenanceOf(path.slot), path.names)
}
