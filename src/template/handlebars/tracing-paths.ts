import { made, NOWHERE, type Provenance } from '../trace/provenance.ts'
import { traceOf } from '../trace/trace-of.ts'
import { type Trace } from '../trace/trace.ts'
import { type Value } from '../value.ts'
import { type Path } from './ast.ts'
import { memberOf } from './members.ts'
import { type FoundParam, yieldsToRoot } from './paths.ts'
import { type Evaluate, type LoopData, type Scope } from './scope.ts'

/** Where a path begins: a value, where that comes from, and the names that lead on. */
interface Start { readonly value: Value, readonly provenance: Provenance, readonly names: readonly string[] }

/**
 * Says what a path reads. The path is evaluated as ever, and then followed once more from where it begins.
 *
 * @param param the block parameter that it begins with, if it does
 */
export function tracePath (path: Path, param: FoundParam | undefined, evaluate: Evaluate): Evaluate {
  const startOf = path.data ? dataStart(path) : param === undefined ? contextStart(path) : paramStart(path, param)
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const value = evaluate(scope)
    trace.drop(mark)
    const start = startOf(scope, trace, value)
    if (start !== undefined) trace.follow(start.provenance, start.value, start.names)
    return value
  }
}

type FindStart = (scope: Scope, trace: Trace, value: Value) => Start | undefined

function contextStart ({ depth, parts }: Path): FindStart {
  const [first] = parts
  return (scope, trace) => {
    let place: Scope | undefined = scope
    for (let hop = 0; hop < depth; hop++) place = place?.up
    if (place === undefined) return undefined
    if (depth === 0 && first !== undefined && isAtRoot(scope, first, trace)) return { value: scope.rendering.root, provenance: NOWHERE, names: parts }
    return { value: place.context, provenance: trace.boundTo(place) ?? NOWHERE, names: parts }
  }
}

function isAtRoot (scope: Scope, name: string, trace: Trace): boolean {
  const { mark } = trace
  const member = memberOf(scope.context, name)
  trace.drop(mark)
  return yieldsToRoot(scope, name, member)
}

function paramStart ({ parts }: Path, { hops, index }: FoundParam): FindStart {
  const names = parts.slice(1)
  return (scope, trace) => {
    let { params } = scope
    for (let hop = 0; hop < hops; hop++) params = params?.outer
    if (params === undefined) return undefined
    const provenance = trace.boundTo(params) ?? NOWHERE
    // The second one is a key: it belongs to the element, and is none of its members.
    return index === 0 ? { value: params.first, provenance, names } : { value: params.second ?? null, provenance: made([provenance]), names }
  }
}

/** `@root` and its members; of the other data no more is known than the loop that they belong to. */
function dataStart ({ depth, parts: [name, ...names] }: Path): FindStart {
  if (name === 'root') return ({ rendering }) => ({ value: rendering.root, provenance: NOWHERE, names })
  return (scope, trace, value) => {
    let { data } = scope
    for (let hop = 0; hop < depth; hop++) data = data?.outer
    return { value, provenance: made([ofLoop(data, trace)]), names: [] }
  }
}

/** A partial with a block has data of its own, which repeat those of the loop around it. */
function ofLoop (data: LoopData | undefined, trace: Trace): Provenance {
  for (let each = data; each !== undefined; each = each.outer) {
    const provenance = trace.boundTo(each)
    if (provenance !== undefined) return provenance
  }
  return NOWHERE
}
