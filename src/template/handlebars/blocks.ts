import type { Provenance } from '../provenance.ts'
import { traceOf } from '../scope.ts'
import { Absent, isToolResult, LazyNode, memberNames, NOTHING, PENDING, type Value, type ValueObject } from '../value.ts'
import { type Block, type Expression, type Hash, positionOf, type Program } from './parse.ts'
import { checkArity, compileExpression, compileHead } from './calls.ts'
import { type Compiled, type Evaluator, isTrue, LoopData, observing, type Params, type Render, Scope } from './scope.ts'
import { type CompileContext, syntaxError } from './environment.ts'
import { findParam, simpleName } from './paths.ts'
import { memberAt, oneOf, type StaticPath, UNKNOWN } from './static-path.ts'

export function compileBlock (block: Block, environment: CompileContext): Render {
  const name = block.path.type === 'PathExpression' ? simpleName(block.path) : undefined
  const isRaw = block.openStrip.open === undefined
  if (isRaw && name === 'raw' && block.params.length === 0) return compileSame(block.program, environment)
  if (name === undefined || findParam(name, environment.params) !== undefined) return compileValueBlock(block, environment)
  switch (name) {
    case 'if': return compileConditional(block, environment, true)
    case 'unless': return compileConditional(block, environment, false)
    case 'with': return compileWith(block, environment)
    case 'each': return compileEach(block, environment)
    default: return compileValueBlock(block, environment)
  }
}

function hasParams (program: Program | undefined): boolean {
  return program?.blockParams !== undefined && program.blockParams.length > 0
}

function compileWith (block: Block, environment: CompileContext): Render {
  checkArity('with', block, 1, 1)
  const value = compileExpression(block.params[0] as Expression, environment, 'tested')
  const body = compileInner(block.program, environment, value.where)
  const otherwise = compileSame(block.inverse, environment)
  const enter = entering(body, hasParams(block.program))
  const evaluate = headerOf(value, environment)
  return scope => {
    const context = evaluate(scope)
    if (context === PENDING) return skip(scope)
    return isEmpty(context) ? otherwise(scope) : enter(scope, context)
  }
}

function headerOf ({ evaluate }: Compiled, environment: CompileContext): Evaluator {
  return observing(evaluate, environment, (from, _trace, scope) => {
    scope.from = from
  })
}

/** Unlike for `if`, 0 is not empty. */
function isEmpty (value: Value): boolean {
  if (typeof value !== 'object') return value === false || value === '' || Number.isNaN(value)
  if (value === null || value === NOTHING) return true
  return Array.isArray(value) ? value.length === 0 : value instanceof Absent
}

function compileEach (block: Block, environment: CompileContext): Render {
  checkArity('each', block, 1, 1)
  const [argument] = block.params as [Expression]
  const list = compileExpression(argument, environment, block.inverse === undefined ? 'used' : 'tested')
  const loop = looping(compileInner(block.program, environment, memberAt(list.where, ['*'])), hasParams(block.program))
  const otherwise = compileSame(block.inverse, environment)
  const at = positionOf(argument.loc.start)
  const consumes = block.inverse === undefined
  const evaluate = headerOf(list, environment)
  return scope => {
    const value = evaluate(scope)
    if (typeof value !== 'object' || value === null || value === NOTHING) return otherwise(scope)
    if (value === PENDING) return skip(scope)
    if (!(value instanceof Absent)) return loop(scope, value as LoopValue) ?? otherwise(scope)
    if (!consumes) return otherwise(scope)
    scope.rendering.run.miss(value, at)
    return skip(scope)
  }
}

/** True keeps the context, a list is iterated; anything else except false, null and absent becomes the context. */
function compileValueBlock (block: Block, environment: CompileContext): Render {
  const head = compileHead(block, environment, 'tested')
  const body = compileInner(block.program, environment, contextOfValueBlock(head, environment))
  const otherwise = compileSame(block.inverse, environment)
  const enter = entering(body, hasParams(block.program))
  const loop = looping(body, hasParams(block.program))
  const { toolSlot } = head
  const evaluate = headerOf(head, environment)
  return scope => {
    const value = evaluate(scope)
    if (value === PENDING) return skip(scope)
    const isTool = toolSlot !== undefined && scope.rendering.links[toolSlot] !== undefined
    if (isTool) return isEmpty(value) ? otherwise(scope) : enter(scope, value)
    if (value === true) {
      scope.from = scope.provenance
      return enter(scope, scope.context)
    }
    if (value === false || value === null || value === NOTHING || value instanceof Absent) return otherwise(scope)
    return Array.isArray(value) ? loop(scope, value) ?? otherwise(scope) : enter(scope, value)
  }
}

/** Unknown before the run: `true` keeps the context, a list gives an element, else the value itself is it. */
function contextOfValueBlock ({ where, toolSlot }: Compiled, { context }: CompileContext): StaticPath {
  const isCall = toolSlot !== undefined && where === UNKNOWN
  return isCall ? UNKNOWN : oneOf(context, where, memberAt(where, ['*']))
}

function entering (body: Render, withParams: boolean): (scope: Scope, context: Value) => string {
  return (scope, context) => {
    const params = withParams ? { first: context, second: undefined, fromTool: false, outer: scope.params, provenance: undefined } : scope.params
    const inner = new Scope(scope.rendering, context, scope, scope.data, params)
    if (context === scope.context) inner.fromTool = scope.fromTool
    if (scope.from !== undefined) inner.comeFrom(scope.from)
    return body(inner)
  }
}

type LoopValue = readonly Value[] | ValueObject | LazyNode

function looping (body: Render, withParams: boolean): (scope: Scope, value: LoopValue) => string | undefined {
  return (scope, value) => {
    if (Array.isArray(value)) {
      return value.length === 0 ? undefined : loopOverList(body, beginLoop(scope, value, withParams), value as readonly Value[], scope.from)
    }
    const keys = value instanceof LazyNode ? value.keys() : memberNames(value)
    if (keys === PENDING) return skip(scope)
    const names = keys as readonly string[]
    if (names.length === 0) return undefined
    scope.rendering.run.charge(names.length)
    return loopOverMembers(body, beginLoop(scope, value, withParams), value as ValueObject | LazyNode, names, scope.from)
  }
}

function beginLoop (scope: Scope, value: LoopValue, withParams: boolean): Scope {
  const fromTool = isToolResult(value)
  const params: Params | undefined = withParams ? { first: null, second: undefined, fromTool, outer: scope.params, provenance: undefined } : scope.params
  const inner = new Scope(scope.rendering, null, scope, new LoopData(scope.data), params)
  inner.fromTool = fromTool
  inner.ownsParams = withParams
  return inner
}

function loopOverList (body: Render, inner: Scope, list: readonly Value[], from: Provenance | undefined): string {
  const { run } = inner.rendering
  const limit = run.limits.output
  const last = list.length - 1
  let output = ''
  for (let index = 0; index <= last; index++) {
    inner.nextRound(list[index] as Value, index, index, index === last)
    if (from !== undefined) inner.comeFrom(traceOf(run).element(from, list, index))
    output += body(inner)
    if (output.length > limit) run.checkOutput(output.length)
  }
  return output
}

function loopOverMembers (
  body: Render, inner: Scope, holder: ValueObject | LazyNode, keys: readonly string[], from: Provenance | undefined
): string {
  const { run } = inner.rendering
  const limit = run.limits.output
  const last = keys.length - 1
  let output = ''
  for (let index = 0; index <= last; index++) {
    const key = keys[index] as string
    inner.nextRound(holder instanceof LazyNode ? holder.field(key) : holder[key] as Value, key, index, index === last)
    if (from !== undefined) inner.comeFrom(traceOf(run).element(from, holder, key))
    output += body(inner)
    if (output.length > limit) run.checkOutput(output.length)
  }
  return output
}

function compileConditional (block: Block, environment: CompileContext, wanted: boolean): Render {
  const name = wanted ? 'if' : 'unless'
  const { hash, ...unnamed } = block
  checkArity(name, unnamed, 1, 1)
  for (const program of [block.program, block.inverse]) {
    if ((program?.blockParams?.length ?? 0) > 0) throw syntaxError(`"${name}" has no block parameters`, block)
  }
  const unexplained = { ...environment, isExplained: false }
  const condition = compileExpression(block.params[0] as Expression, unexplained, 'tested').evaluate
  const includesZero = compileIncludeZero(name, hash, unexplained)
  const body = compileSame(wanted ? block.program : block.inverse, environment)
  const otherwise = compileSame(wanted ? block.inverse : block.program, environment)
  const test = includesZero === undefined ? (scope: Scope) => isTrue(condition(scope)) : testWithZero(condition, includesZero)
  return scope => {
    const truth = test(scope)
    if (truth === PENDING) return skip(scope)
    return truth === true ? body(scope) : otherwise(scope)
  }
}

function compileIncludeZero (name: string, hash: Hash | undefined, environment: CompileContext): Evaluator | undefined {
  if (hash === undefined) return undefined
  const other = hash.pairs.find(pair => pair.key !== 'includeZero')
  if (other !== undefined) throw syntaxError(`"${name}" takes no argument called "${other.key}"`, other)
  return compileExpression((hash.pairs[0] as Hash['pairs'][number]).value, environment, 'tested').evaluate
}

function testWithZero (condition: Evaluator, includesZero: Evaluator): (scope: Scope) => boolean | typeof PENDING {
  return scope => {
    const value = condition(scope)
    const included = isTrue(includesZero(scope))
    if (value === PENDING || included === PENDING) return PENDING
    return (included === true && (value === 0 || value === 0n)) || isTrue(value)
  }
}

const nothing: Render = () => ''

function compileSame (program: Program | undefined, environment: CompileContext): Render {
  if (program === undefined) return nothing
  return environment.collection.compilers.sequence(program, { ...environment, depth: environment.depth + 1 }, environment, scope => scope).render
}

function compileInner (program: Program | undefined, environment: CompileContext, value: StaticPath): Render {
  if (program === undefined) return nothing
  const names = program.blockParams ?? []
  const inside: CompileContext = {
    ...environment,
    context: value,
    up: environment,
    params: names.length === 0 ? environment.params : { names, values: [value], outer: environment.params },
    depth: environment.depth + 1
  }
  return environment.collection.compilers.sequence(program, inside, environment, scope => scope.outer).render
}

/** While the value is unknown, neither the body nor the else runs in this pass. */
function skip (scope: Scope): string {
  scope.rendering.run.unfinished = true
  return ''
}
