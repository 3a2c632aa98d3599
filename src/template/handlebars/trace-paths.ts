import { dataMember, isDataName, TracedRoot, traceOf } from '../scope.ts'
import { made, NOWHERE, type Provenance } from '../provenance.ts'
import { type Trace } from '../trace.ts'
import { PENDING, type Value } from '../value.ts'
import { type PathNode } from './parse.ts'
import { type Compiled, type Evaluator, type FoundParam, type LoopData, memberOf, type Scope, type TracedPath, yieldsToRoot } from './scope.ts'

export function provenanceOf (scope: Scope | undefined): Provenance {
  return scope?.provenance ?? NOWHERE
}

/** `undefined` for `@root`, which has no origin. */
function traceOfPath ({ data, depth, parts }: PathNode, param: FoundParam | undefined, evaluate: Evaluator): TracedPath | undefined {
  if (data) return parts[0] === 'root' ? undefined : { evaluate, names: [], startOf: scope => ofLoop(outerData(scope, depth)), isPlain: false }
  if (param === undefined) {
    return {
      evaluate,
      names: parts,
      startOf: depth === 0 ? provenanceOf : scope => provenanceOf(outward(scope, depth)),
      isPlain: depth === 0 && parts.every(isDataName)
    }
  }
  // The second block parameter is a key: it has its element's provenance, but is no member of it.
  const names = param.index > 0 ? [] : parts.slice(1)
  return { evaluate, names, startOf: scope => paramsOf(scope, param.hops)?.provenance ?? NOWHERE, isPlain: false }
}

/** `PENDING` where a tool has the name: its result is unknown before it is read. */
export function unlessTool (traced: TracedPath, slot: number): TracedPath {
  const { evaluate } = traced
  return { ...traced, evaluate: scope => scope.rendering.links[slot] === undefined ? evaluate(scope) : PENDING, toolSlot: slot }
}

export function rootOf ({ context, rendering: { root } }: Scope, { names: [first] }: TracedPath): TracedRoot | undefined {
  return context === root && (first === 'variables' || first === 'args') && root instanceof TracedRoot ? root : undefined
}

/** `undefined` when there is none, and when the path is the name of a tool. */
export function readPlain ({ context, rendering }: Scope, { names, toolSlot }: TracedPath, root: TracedRoot | undefined): Value | undefined {
  if (toolSlot !== undefined && rendering.links[toolSlot] !== undefined) return undefined
  let value: Value | undefined = root === undefined ? context : root.variables()
  for (let index = root === undefined ? 0 : 1; index < names.length; index++) {
    if (typeof value !== 'object' || value === null) return undefined
    value = dataMember(value, names[index] as string)
  }
  return value
}

interface PathStart { readonly value: Value, readonly provenance: Provenance, readonly names: readonly string[] }

export function traceContext (compiled: Compiled): Compiled {
  const evaluate: Evaluator = scope => {
    traceOf(scope.rendering.run).read(provenanceOf(scope))
    return compiled.evaluate(scope)
  }
  return { ...compiled, evaluate, traced: { evaluate: compiled.evaluate, names: [], startOf: provenanceOf, isPlain: true } }
}

/** Follows the path once more where the reports do not tell its origin. */
export function tracePath (path: PathNode, param: FoundParam | undefined, compiled: Compiled): Compiled {
  const traced = traceOfPath(path, param, compiled.evaluate)
  const evaluate = reading(path, param, compiled.evaluate, traced)
  return traced === undefined ? { ...compiled, evaluate } : { ...compiled, evaluate, traced }
}

function reading (path: PathNode, param: FoundParam | undefined, evaluate: Evaluator, traced: TracedPath | undefined): Evaluator {
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

type FindStart = (scope: Scope, trace: Trace, value: Value) => PathStart | undefined

function outward (scope: Scope, depth: number): Scope | undefined {
  let place: Scope | undefined = scope
  for (let hop = 0; hop < depth; hop++) place = place?.up
  return place
}

function contextStart ({ depth, parts }: PathNode): FindStart {
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

function paramStart ({ parts }: PathNode, { hops, index }: FoundParam): FindStart {
  const names = parts.slice(1)
  return scope => {
    const params = paramsOf(scope, hops)
    if (params === undefined) return undefined
    const provenance = params.provenance ?? NOWHERE
    return index === 0 ? { value: params.first, provenance, names } : { value: params.second ?? null, provenance: made([provenance]), names }
  }
}

/** `@index` and the others have the provenance of the loop. */
function dataStart ({ depth, parts: [name, ...names] }: PathNode): FindStart {
  if (name === 'root') return ({ rendering }) => ({ value: rendering.root, provenance: NOWHERE, names })
  return (scope, _trace, value) => ({ value, provenance: made([ofLoop(outerData(scope, depth))]), names: [] })
}

function outerData ({ data }: Scope, depth: number): LoopData | undefined {
  let found = data
  for (let hop = 0; hop < depth; hop++) found = found?.outer
  return found
}

/** A partial with a block has none in its loop data: then the loop around it counts. */
function ofLoop (data: LoopData | undefined): Provenance {
  for (let each = data; each !== undefined; each = each.outer) {
    if (each.provenance !== undefined) return each.provenance
  }
  return NOWHERE
}
