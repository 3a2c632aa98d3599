import { NOWHERE, type Provenance } from '../provenance.ts'
import { isDataName, traceOf } from '../scope.ts'
import { Absent, PENDING, type Value } from '../value.ts'
import { type PathNode, positionOf } from './parse.ts'
import { type Compiled, type Evaluator, type FoundParam, isFromTool, type LoopData, memberOf, missing, type Params, type Scope, yieldsToRoot } from './scope.ts'
import { type CompileContext, type ParamNames, type Use } from './environment.ts'
import { memberAt, ROOT, solePath, UNKNOWN } from './static-path.ts'

/** `this.x`, `./x`, `../x`, `.`, by the package's rule. */
function isScoped (path: PathNode): boolean {
  return /^\.|this\b/.test(path.original)
}

export function simpleName (path: PathNode): string | undefined {
  return path.parts.length === 1 && !path.data && path.depth === 0 && !isScoped(path) ? path.parts[0] : undefined
}

export function findParam (name: string, params: ParamNames | undefined): FoundParam | undefined {
  let hops = 0
  for (let each = params; each !== undefined; each = each.outer, hops++) {
    const index = each.names.indexOf(name)
    if (index >= 0) return { hops, index, value: each.values[index] ?? UNKNOWN }
  }
  return undefined
}

/** @param reference the index of the tool that is meant instead if there is one */
export function compilePath (path: PathNode, environment: CompileContext, use: Use, reference?: number): Compiled {
  const param = paramOf(path, environment)
  const compiled = resolve(path, param, environment)
  const { collection } = environment
  collection.need(compiled.where, use, positionOf(path.loc.start), reference)
  return environment.isExplained ? { ...compiled, evaluate: reading(path, param, compiled.evaluate) } : compiled
}

/** Tells the trace where the value comes from: from what was read on the way, or else by following the path once more. */
function reading ({ data, depth, parts }: PathNode, param: FoundParam | undefined, evaluate: Evaluator): Evaluator {
  const [first] = parts
  const isRoot = data && first === 'root'
  const isContext = !data && param === undefined
  const names = isContext ? parts : isRoot || !data ? parts.slice(1) : []
  const rest = names.slice(1)
  const provenanceOf = (scope: Scope): Provenance | undefined => {
    if (isContext) return outwardFrom(scope, depth)?.provenance
    if (data) return isRoot ? undefined : ofLoop(dataAt(scope, depth))
    return paramsOf(scope, param?.hops ?? 0)?.provenance
  }
  return scope => {
    const { rendering: { run, root } } = scope
    const trace = traceOf(run)
    const { mark } = trace
    const value = evaluate(scope)
    const from = provenanceOf(scope) ?? NOWHERE
    if (trace.readBelow(from, names, rest, value, mark)) return value
    if (isRoot || (isContext && depth === 0 && first !== undefined && isAtRoot(scope, first))) trace.follow(NOWHERE, root, names)
    else if (isContext) trace.follow(from, outwardFrom(scope, depth)?.context, names)
    else trace.follow(from, param === undefined ? value : paramAt(scope, param), names)
    return value
  }
}

function isAtRoot (scope: Scope, name: string): boolean {
  const trace = traceOf(scope.rendering.run)
  const { mark } = trace
  const member = memberOf(scope.context, name)
  trace.drop(mark)
  return yieldsToRoot(scope, name, member)
}

/** A partial with a block has none in its loop data: then the loop around it counts. */
function ofLoop (data: LoopData | undefined): Provenance | undefined {
  let found = data
  while (found !== undefined && found.provenance === undefined) found = found.outer
  return found?.provenance
}

function outwardFrom (scope: Scope, depth: number): Scope | undefined {
  let place: Scope | undefined = scope
  for (let hop = 0; hop < depth; hop++) place = place?.up
  return place
}

function paramsOf ({ params }: Scope, hops: number): Params | undefined {
  let found = params
  for (let hop = 0; hop < hops; hop++) found = found?.outer
  return found
}

function paramAt (scope: Scope, { hops, index }: FoundParam): Value | undefined {
  const params = paramsOf(scope, hops)
  return index === 0 ? params?.first : index === 1 ? params?.second : undefined
}

function dataAt ({ data }: Scope, depth: number): LoopData | undefined {
  let found = data
  for (let hop = 0; hop < depth; hop++) found = found?.outer
  return found
}

function paramOf (path: PathNode, environment: CompileContext): FoundParam | undefined {
  const [name] = path.parts
  return name === undefined || path.data || path.depth > 0 || isScoped(path) ? undefined : findParam(name, environment.params)
}

function resolve (path: PathNode, param: FoundParam | undefined, environment: CompileContext): Compiled {
  if (path.data) return dataPath(path)
  if (param === undefined) return contextPath(path, environment)
  const [, ...rest] = path.parts
  const where = memberAt(param.value, rest)
  return { evaluate: fromParam(param, wayOf(rest, solePath(where) ?? path.original)), where }
}

function contextPath (path: PathNode, environment: CompileContext): Compiled {
  const where = memberAt(outward(environment, path.depth)?.context ?? UNKNOWN, path.parts)
  const way = wayOf(path.parts, solePath(where) ?? path.original)
  return { evaluate: path.depth === 0 ? fromContext(way) : fromOuterContext(path.depth, way), where }
}

function outward (environment: CompileContext, depth: number): CompileContext | undefined {
  let place: CompileContext | undefined = environment
  for (let hop = 0; hop < depth; hop++) place = place?.up
  return place
}

/** In a partial, names of the scope root that the context lacks are looked up at the root. */
function contextMember (scope: Scope, name: string, isOfData: boolean): Value | undefined {
  const { context } = scope
  const member = memberOf(context, name, isOfData)
  if (member !== undefined && typeof member !== 'object') return member
  return yieldsToRoot(scope, name, member) ? scope.rendering.root.field(name) : member
}

interface Way {
  readonly names: readonly string[]
  readonly isOfData: boolean
  readonly label: string
}

function wayOf (names: readonly string[], label: string): Way {
  return { names, isOfData: names.every(isDataName), label }
}

// One closure per common length: a loop would take most of a short path's time. A missing value is walked again, to find out why.
function fromContext (way: Way): Evaluator {
  const { names, isOfData, label } = way
  const [first, second, third] = names
  if (first === undefined) return scope => scope.context
  const walkFrom = (scope: Scope): Value => {
    const member = contextMember(scope, first, isOfData)
    if (member === undefined) return missing(scope.context, scope.fromTool, label)
    return walk(member, way, 1, isFromTool(scope.context, scope.fromTool))
  }
  if (second === undefined) {
    return scope => {
      const member = contextMember(scope, first, isOfData)
      return member === undefined ? missing(scope.context, scope.fromTool, label) : member
    }
  }
  if (names.length > 3) return walkFrom
  if (third === undefined) {
    return scope => {
      const holder = contextMember(scope, first, isOfData)
      const member = holder === undefined ? undefined : memberOf(holder, second, isOfData)
      return member === undefined ? walkFrom(scope) : member
    }
  }
  return scope => {
    const outer = contextMember(scope, first, isOfData)
    const holder = outer === undefined ? undefined : memberOf(outer, second, isOfData)
    const member = holder === undefined ? undefined : memberOf(holder, third, isOfData)
    return member === undefined ? walkFrom(scope) : member
  }
}

function fromOuterContext (depth: number, way: Way): Evaluator {
  return scope => {
    let place: Scope | undefined = scope
    for (let hop = 0; hop < depth && place !== undefined; hop++) {
      if (place.context === PENDING) return PENDING
      place = place.up
    }
    return place === undefined ? new Absent(way.label) : walk(place.context, way, 0, place.fromTool)
  }
}

function fromParam (param: FoundParam, way: Way): Evaluator {
  return scope => {
    const value = paramAt(scope, param)
    return value === undefined ? new Absent(way.label) : walk(value, way, 0, param.index === 0 && paramsOf(scope, param.hops)?.fromTool === true)
  }
}

/** Compiles `@root`, `@index`, `@key`, `@first`, `@last`, with members and `../`; `@partial-block` tells whether there is one. */
function dataPath (path: PathNode): Compiled {
  const [name = '', ...parts] = path.parts
  if (name === 'root') {
    const way = wayOf(parts, parts.join('.'))
    return { evaluate: scope => walk(scope.rendering.root, way, 0, false), where: memberAt(ROOT, parts) }
  }
  const read = DATA.get(name)
  if (read === undefined) return { evaluate: () => new Absent(path.original), where: UNKNOWN }
  return { evaluate: fromData(read, path.depth, wayOf(parts, path.original)), where: UNKNOWN }
}

type ReadData = (data: LoopData) => Value | undefined

function fromData (read: ReadData, depth: number, way: Way): Evaluator {
  return scope => {
    const data = dataAt(scope, depth)
    const value = data === undefined ? undefined : read(data)
    return value === undefined ? new Absent(way.label) : walk(value, way, 0, false)
  }
}

const DATA: ReadonlyMap<string, ReadData> = new Map([
  ['index', data => data.index],
  ['key', data => data.key],
  ['first', data => data.first],
  ['last', data => data.last],
  ['partial-block', data => data.body === undefined ? undefined : true]
])

function walk (value: Value, { names, isOfData, label }: Way, start: number, fromTool: boolean): Value {
  let holder = value
  let holderFromTool = fromTool
  for (let index = start; index < names.length; index++) {
    const member = memberOf(holder, names[index] as string, isOfData)
    if (member === undefined) return missing(holder, holderFromTool, label)
    if (typeof member !== 'object' || member === null) holderFromTool = isFromTool(holder, holderFromTool)
    holder = member
  }
  return holder
}
