import { followed, NOWHERE, type Provenance } from '../provenance.ts'
import { isData } from '../value.ts'
import { type GoValue } from './go-value.ts'
import { beginsAtRoot, type Evaluate, type PlainPath, readPlain } from './code.ts'
import { type RenderState, type TracedState, tracedOf } from './render-state.ts'

// Wraps the closures of a template's paths, so that they report to the trace what they read.

export function resolveOrigin (machine: RenderState, traced: TracedState, dot: GoValue, path: PlainPath, value: GoValue | undefined): Provenance | undefined {
  if (!isData(value)) return undefined
  return beginsAtRoot(machine, dot, path) ? followed(traced.ofVariables, path.names, 1) : followed(traced.provenanceOf(path.slot), path.names)
}

export function tracePath (evaluateOther: Evaluate, find: () => PlainPath | undefined): Evaluate {
  const path = find()
  if (path === undefined) return evaluateOther
  return (machine, dot) => {
    const traced = tracedOf(machine)
    const value = readPlain(machine, dot, path)
    const way = resolveOrigin(machine, traced, dot, path, value)
    if (value === undefined || way === undefined) return evaluateOther(machine, dot)
    traced.trace.read(way)
    return value
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
    traced.trace.read(traced.provenanceOf(slot))
    return machine.variables[slot] ?? null
  }
}

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

export function traceFields (base: Evaluate, names: readonly string[], read: Evaluate): Evaluate {
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

export function traceStart (name: string, evaluate: Evaluate, isOfRoot: (machine: RenderState, dot: GoValue, name: string) => boolean): Evaluate {
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
