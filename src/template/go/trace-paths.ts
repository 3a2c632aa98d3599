import { followed, NOWHERE, type Provenance } from '../provenance.ts'
import { isData } from '../value.ts'
import { type GoValue } from './go-value.ts'
import { beginsAtRoot, type Evaluate, type PlainPath, readPlain } from './code.ts'
import { type RenderState, type TracedState, tracedOf } from './render-state.ts'

// Wraps the closures of a template's paths, so that they report to the trace what they read.

export function resolveOrigin (state: RenderState, traced: TracedState, dot: GoValue, path: PlainPath, value: GoValue | undefined): Provenance | undefined {
  if (!isData(value)) return undefined
  return beginsAtRoot(state, dot, path) ? followed(traced.ofVariables, path.names, 1) : followed(traced.provenanceOf(path.slot), path.names)
}

export function tracePath (evaluateOther: Evaluate, find: () => PlainPath | undefined): Evaluate {
  const path = find()
  if (path === undefined) return evaluateOther
  return (state, dot) => {
    const traced = tracedOf(state)
    const value = readPlain(state, dot, path)
    const way = resolveOrigin(state, traced, dot, path, value)
    if (value === undefined || way === undefined) return evaluateOther(state, dot)
    traced.trace.read(way)
    return value
  }
}

export const traceDot: Evaluate = (state, value) => {
  const { trace, dot } = tracedOf(state)
  trace.read(dot)
  return value
}

export function traceVariable (slot: number): Evaluate {
  return state => {
    const traced = tracedOf(state)
    traced.trace.read(traced.provenanceOf(slot))
    return state.variables[slot] ?? null
  }
}

export function traceAssignment (slot: number, evaluate: Evaluate): Evaluate {
  return (state, dot) => {
    const traced = tracedOf(state)
    const { trace } = traced
    const { mark } = trace
    const value = evaluate(state, dot)
    const provenance = trace.take(mark)
    traced.assign(slot, provenance)
    trace.read(provenance)
    return value
  }
}

export function traceFields (base: Evaluate, names: readonly string[], read: Evaluate): Evaluate {
  return (state, dot) => {
    const { trace } = tracedOf(state)
    const { mark } = trace
    const receiver = base(state, dot)
    const provenance = trace.take(mark)
    const value = read(state, receiver)
    trace.drop(mark)
    trace.follow(provenance, receiver, names)
    return value
  }
}

export function traceStart (name: string, evaluate: Evaluate, isOfRoot: (state: RenderState, dot: GoValue, name: string) => boolean): Evaluate {
  return (state, dot) => {
    const traced = tracedOf(state)
    const { trace } = traced
    const { mark } = trace
    const value = evaluate(state, dot)
    const ofRoot = isOfRoot(state, dot, name)
    trace.drop(mark)
    if (ofRoot) trace.follow(NOWHERE, state.root, [name])
    else trace.follow(traced.dot, dot, [name])
    return value
  }
}
