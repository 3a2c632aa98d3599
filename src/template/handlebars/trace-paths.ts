import { dataMember, isDataName, TracedRoot, traceOf } from '../scope.ts'
import { made, NOWHERE, type Provenance } from '../provenance.ts'
import { type Trace } from '../trace.ts'
import { PENDING, type Value } from '../value.ts'
import { type Path } from './parse.ts'
import { type Compiled, type Evaluate, type FoundParam, type LoopData, memberOf, type Scope, type TracedPath, yieldsToRoot } from './scope.ts'

/** The provenance of the context of a scope. */
export function provenanceOf (scope: Scope | undefined): Provenance {
  return scope?.provenance ?? NOWHERE
}

/** Describes a path for an explanation; gives `undefined` for a path that begins with `@root`, because the scope root has no origin. */
function traceOfPath ({ data, depth, parts }: Path, param: FoundParam | undefined, evaluate: Evaluate): TracedPath | undefined {
  if (data) return parts[0] === 'root' ? undefined : { evaluate, names: [], startOf: scope => ofLoop(outerData(scope, depth)), isPlain: false }
  if (param === undefined) {
    return {
      evaluate,
      names: parts,
      startOf: depth === 0 ? provenanceOf : scope => provenanceOf(outward(scope, depth)),
      isPlain: depth === 0 && parts.every(isDataName)
    }
  }
  // The second block parameter is a key. It has the provenance of its element, but is no member of it.
  const names = param.index > 0 ? [] : parts.slice(1)
  return { evaluate, names, startOf: scope => paramsOf(scope, param.hops)?.provenance ?? NOWHERE, isPlain: false }
}

/**
 * Gives a copy of the description of a path whose name can be that of a tool. If there is such a tool, `evaluate` of the copy gives `PENDING`, because
 * nothing is known about the tool's result before it is read.
 */
export function unlessTool (traced: TracedPath, slot: number): TracedPath {
  const { evaluate } = traced
  return { ...traced, evaluate: scope => scope.rendering.links[slot] === undefined ? evaluate(scope) : PENDING, toolSlot: slot }
}

/** The scope root (the object with all variables), if a plain path begins there with the caller's variables; `undefined` for any other path. */
export function rootOf ({ context, rendering: { root } }: Scope, { names: [first] }: TracedPath): TracedRoot | undefined {
  return context === root && (first === 'variables' || first === 'args') && root instanceof TracedRoot ? root : undefined
}

/**
 * The value of a plain path (see `TracedPath.isPlain`) in the data of the context or of the caller's variables. `undefined` when there is none, and when
 * the path is the name of a tool.
 * @param root the result of `rootOf`
 */
export function readPlain ({ context, rendering }: Scope, { names, toolSlot }: TracedPath, root: TracedRoot | undefined): Value | undefined {
  if (toolSlot !== undefined && rendering.links[toolSlot] !== undefined) return undefined
  let value: Value | undefined = root === undefined ? context : root.variables()
  for (let index = root === undefined ? 0 : 1; index < names.length; index++) {
    if (typeof value !== 'object' || value === null) return undefined
    value = dataMember(value, names[index] as string)
  }
  return value
}

/** The beginning of a path: a value, the value's provenance, and the names that lead on from the value. */
interface Start { readonly value: Value, readonly provenance: Provenance, readonly names: readonly string[] }

/** Makes an expression report that the context is read. */
export function traceContext (compiled: Compiled): Compiled {
  const evaluate: Evaluate = scope => {
    traceOf(scope.rendering.run).read(provenanceOf(scope))
    return compiled.evaluate(scope)
  }
  return { ...compiled, evaluate, traced: { evaluate: compiled.evaluate, names: [], startOf: provenanceOf, isPlain: true } }
}

/**
 * Makes the closure of a path report what it reads. When the reports do not tell that, the path is followed once more from its beginning.
 * @param param the block parameter with which the path begins, if it does
 */
export function tracePath (path: Path, param: FoundParam | undefined, compiled: Compiled): Compiled {
  const traced = traceOfPath(path, param, compiled.evaluate)
  const evaluate = reading(path, param, compiled.evaluate, traced)
  return traced === undefined ? { ...compiled, evaluate } : { ...compiled, evaluate, traced }
}

function reading (path: Path, param: FoundParam | undefined, evaluate: Evaluate, traced: TracedPath | undefined): Evaluate {
  const findStart = path.data ? dataStart(path) : param === undefined ? contextStart(path) : paramStart(path, param)
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const value = evaluate(scope)
    const way = traced && trace.resolveOrigin(traced.startOf(scope), traced.names, value, mark)
    if (way !== undefined) {
      trace.read(way)
      return value
    }
    trace.drop(mark)
    const start = findStart(scope, trace, value)
    if (start !== undefined) trace.follow(start.provenance, start.value, start.names)
    return value
  }
}

type FindStart = (scope: Scope, trace: Trace, value: Value) => Start | undefined

function outward (scope: Scope, depth: number): Scope | undefined {
  let place: Scope | undefined = scope
  for (let hop = 0; hop < depth; hop++) place = place?.up
  return place
}

function contextStart ({ depth, parts }: Path): FindStart {
  const [first] = parts
  return (scope, trace) => {
    const place = outward(scope, depth)
    if (place === undefined) return undefined
    if (depth === 0 && first !== undefined && isAtRoot(scope, first, trace)) return { value: scope.rendering.root, provenance: NOWHERE, names: parts }
    return { value: place.context, provenance: provenanceOf(place), names: parts }
  }
}

function isAtRoot (scope: Scope, name: string, trace: Trace): boolean {
  const { mark } = trace
  const member = memberOf(scope.context, name)
  trace.drop(mark)
  return yieldsToRoot(scope, name, member)
}

function paramsOf ({ params }: Scope, hops: number): Scope['params'] {
  let found = params
  for (let hop = 0; hop < hops; hop++) found = found?.outer
  return found
}

function paramStart ({ parts }: Path, { hops, index }: FoundParam): FindStart {
  const names = parts.slice(1)
  return scope => {
    const params = paramsOf(scope, hops)
    if (params === undefined) return undefined
    const provenance = params.provenance ?? NOWHERE
    return index === 0 ? { value: params.first, provenance, names } : { value: params.second ?? null, provenance: made([provenance]), names }
  }
}

/**
 * Finds the beginning of a path with `@`. For `@root` it is the scope root; for `@index` and the others it is the value itself, whose provenance is that
 * of the loop.
 */
function dataStart ({ depth, parts: [name, ...names] }: Path): FindStart {
  if (name === 'root') return ({ rendering }) => ({ value: rendering.root, provenance: NOWHERE, names })
  return (scope, _trace, value) => ({ value, provenance: made([ofLoop(outerData(scope, depth))]), names: [] })
}

function outerData ({ data }: Scope, depth: number): LoopData | undefined {
  let found = data
  for (let hop = 0; hop < depth; hop++) found = found?.outer
  return found
}

/** The provenance of the present element of a loop. The loop data of a partial with a block have none; then that of the loop around the partial counts. */
function ofLoop (data: LoopData | undefined): Provenance {
  for (let each = data; each !== undefined; each = each.outer) {
    if (each.provenance !== undefined) return each.provenance
  }
  return NOWHERE
}
