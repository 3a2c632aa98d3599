import type { Json } from '../../base/json.ts'
import { FALLBACK, made } from '../provenance.ts'
import type { Position } from '../tags.ts'
import { FunctionError, type LinkedTool, measureArguments, type TemplateFunction } from '../template-function.ts'
import { Absent, isToolResult, LazyNode, markToolResult, memberNames, NOTHING, PENDING } from '../value.ts'
import { type Builtin, type BuiltinContext, BUILTINS, CallError, format } from './builtins.ts'
import { byteLength, fromBytes, toBytes } from './bytes.ts'
import { type CompiledExpression, type Context, type Evaluate, failure, joinPath, noteFailing, observing, placeOf } from './code.ts'
import { GoByte, type GoMap, type GoValue, integerOf, kindOf, truthOf, typeName } from './go-value.ts'
import { type Command, describeNode, type IdentifierNode, type Node, type Operand } from './node.ts'
import { allShared, noteBytes, type RenderState, resolveValue, resolveWhole, skip, unionOf } from './render-state.ts'

/** In UTF-16 units; shorter than for other work, since the text is turned into bytes and back. */
const LENGTH_PER_WORK_UNIT = 16

function elementOf (context: BuiltinContext, container: GoValue, key: GoValue, path: string): GoValue {
  if (container === NOTHING || container === PENDING) return container
  if (container instanceof Absent) return new Absent(joinPath(container.path, stepName(key)))
  if (container instanceof LazyNode) return container.field(textKey(key))
  switch (kindOf(container)) {
    case 'slice': return listElement(container as readonly GoValue[], key)
    case 'map': return mapElement(container as GoMap, textKey(key), path)
    case 'string': return byteAt(context, container as string, key)
    case 'nil': throw new CallError('index of nil pointer')
    default: throw new CallError(`can't index item of type ${typeName(container)}`)
  }
}

function stepName (key: GoValue): string {
  return typeof key === 'string' || typeof key === 'number' ? String(key) : '*'
}

function textKey (key: GoValue): string {
  if (typeof key === 'string') return key
  throw new CallError(kindOf(key) === 'nil' ? 'value is nil; should be of type string' : `value has type ${typeName(key)}; should be string`)
}

function mapElement (map: GoMap, key: string, path: string): GoValue {
  const value = Object.hasOwn(map, key) ? map[key] : undefined
  if (isToolResult(map)) return value ?? NOTHING
  return value === undefined ? new Absent(joinPath(path, key)) : value
}

function listElement (list: readonly GoValue[], key: GoValue): GoValue {
  if (!isToolResult(list)) {
    const index = indexOf(key, list.length)
    if (index === list.length) throw new CallError('reflect: slice index out of range')
    return list[index] as GoValue
  }
  const kind = kindOf(key)
  if (kind !== 'int' && kind !== 'uint8') indexOf(key, list.length)
  return list[Number(integerOf(key))] ?? NOTHING
}

function byteAt (context: BuiltinContext, text: string, key: GoValue): GoValue {
  context.charge(Math.floor(text.length / LENGTH_PER_WORK_UNIT))
  const bytes = toBytes(text)
  const index = indexOf(key, bytes.length)
  if (index === bytes.length) throw new CallError('reflect: string index out of range')
  return new GoByte(bytes[index] as number)
}

/** @throws CallError unless the value is an integer up to `most` */
function indexOf (key: GoValue, most: number): number {
  const kind = kindOf(key)
  if (kind === 'nil') throw new CallError('cannot index slice/array with nil')
  if (kind !== 'int' && kind !== 'uint8') throw new CallError(`cannot index slice/array with type ${typeName(key)}`)
  const index = integerOf(key)
  if (index < 0 || index > most) throw new CallError(`index out of range: ${index}`)
  return Number(index)
}

/** The whole list behind each slice: Go allows slicing a slice beyond its end. */
const backing = new WeakMap<object, { readonly whole: readonly GoValue[], readonly start: number, readonly end: number }>()

function sliceOf (context: BuiltinContext, item: GoValue, keys: readonly GoValue[]): GoValue {
  if (item === NOTHING) return NOTHING
  const kind = kindOf(item)
  if (kind === 'nil') throw new CallError('slice of untyped nil')
  if (keys.length > 3) throw new CallError(`too many slice indexes: ${keys.length}`)
  if (kind === 'string') return sliceText(context, item as string, keys)
  if (kind === 'slice') return sliceList(context, item as readonly GoValue[], keys)
  throw new CallError(`can't slice item of type ${typeName(item)}`)
}

function sliceText (context: BuiltinContext, text: string, keys: readonly GoValue[]): string {
  if (keys.length === 3) throw new CallError('cannot 3-index slice a string')
  context.charge(Math.floor(text.length / LENGTH_PER_WORK_UNIT))
  const length = byteLength(text)
  const [start, end] = bounds(keys, length, length)
  return length === text.length ? text.slice(start, end) : fromBytes(toBytes(text).subarray(start, end))
}

function sliceList (context: BuiltinContext, list: readonly GoValue[], keys: readonly GoValue[]): readonly GoValue[] {
  const { whole, start: offset, end: limit } = backing.get(list) ?? { whole: list, start: 0, end: list.length }
  const [start, end, most] = bounds(keys, list.length, limit - offset)
  context.charge(end - start)
  const part = whole.slice(offset + start, offset + end)
  backing.set(part, { whole, start: offset + start, end: offset + most })
  if (isToolResult(list)) markToolResult(part as readonly Json[])
  return part
}

function bounds (keys: readonly GoValue[], length: number, capacity: number): [start: number, end: number, most: number] {
  const [start = 0, end = length, most = capacity] = keys.map(key => indexOf(key, capacity))
  if (start > end) throw new CallError(`invalid slice index: ${start} > ${end}`)
  if (end > most) throw new CallError(`invalid slice index: ${end} > ${most}`)
  return [start, end, most]
}

function compileNot (_context: Context, call: CallSite): CompiledExpression {
  const [operand] = call.operands.all as [CompiledExpression]
  return callExpression(call, (state, dot) => {
    const truth = truthOf(operand.evaluate(state, dot))
    return truth === PENDING ? PENDING : truth === false
  })
}

/** Reads only the names of a branch, not the values. */
function compileLength (context: Context, call: CallSite): CompiledExpression {
  const [operand] = call.operands.all as [CompiledExpression]
  const [place] = call.operands.places as [Position]
  return callExpression(call, (state, dot) => {
    const value = operand.evaluate(state, dot)
    if (value instanceof LazyNode) {
      const keys = value.keys()
      return keys === PENDING ? PENDING : (keys as readonly string[]).length
    }
    const known = resolveValue(state, value, place)
    return known === PENDING ? PENDING : guarded(context, call, () => lengthOf(state.builtins, known))
  })
}

/** Descends into shared variables without fetching them, and into an absent value without an error. */
function compileIndex (context: Context, call: CallSite): CompiledExpression {
  const { operands } = call
  const [container] = operands.all as [CompiledExpression]
  return callExpression(call, (state, dot) => {
    const values = evaluateAll(operands, state, dot)
    if (!resolveValues(operands, state, values, 1)) return PENDING
    return guarded(context, call, () => descend(state, values, container.path))
  })
}

function descend (state: RenderState, values: readonly GoValue[], start: string): GoValue {
  const [container, ...keys] = values as [GoValue, ...GoValue[]]
  if (container === null) throw new CallError('index of untyped nil')
  let item: GoValue = container
  let path = start
  for (const key of keys) {
    item = elementOf(state.builtins, item, key, path)
    path = item instanceof Absent ? item.path : joinPath(path, String(key))
  }
  return item
}

function compileSlice (context: Context, call: CallSite): CompiledExpression {
  return applying(context, call, (state, [item, ...keys]) => noteBytes(state, sliceOf(state.builtins, item as GoValue, keys)))
}

/** Has nothing to call here, because no value is a function. */
function compileFunctionCall (context: Context, call: CallSite): CompiledExpression {
  const { written: [callee] } = call
  return applying(context, call, (_state, [target = null]) => {
    if (kindOf(target) === 'nil') throw new CallError('call of nil')
    throw new CallError(`non-function ${callee === undefined ? reflectText(target) : describeNode(callee)} of type ${typeName(target)}`)
  })
}

function reflectText (value: GoValue): string {
  return typeof value === 'string' ? value : `<${typeName(value)} Value>`
}

/** The length of a string is that in bytes. */
function lengthOf (context: BuiltinContext, value: GoValue): number {
  if (value === NOTHING) return 0
  switch (kindOf(value)) {
    case 'string':
      context.charge((value as string).length >> 6)
      return byteLength(value as string)
    case 'slice': return (value as readonly GoValue[]).length
    case 'map': return memberNames(value as object).length
    case 'nil': throw new CallError('len of nil pointer')
    default: throw new CallError(`len of type ${typeName(value)}`)
  }
}

/** As in Go, operands after the deciding one are not evaluated. */
function compileLogic ({ unit }: Context, call: CallSite): CompiledExpression {
  const { all, isPiped } = call.operands
  const isOr = call.name === 'or'
  const final = all.length - 1
  const form = unit.forms++
  // An unknown operand leaves all after it unevaluated, but not the piped one, which came first.
  const written = isPiped ? all.slice(0, -1) : all
  const skipped = assignsBehind(written, all.length)
  const expression = callExpression(call, (state, dot) => {
    const piped = isPiped ? (all[final] as CompiledExpression).evaluate(state, dot) : null
    for (let index = 0; index < final; index++) {
      const value = (all[index] as CompiledExpression).evaluate(state, dot)
      const truth = truthOf(value)
      if (truth === PENDING) {
        skip(state, skipped[index] as readonly number[])
        return PENDING
      }
      if (truth === isOr) {
        decide(state, form, index)
        return value
      }
    }
    decide(state, form, final)
    return isPiped ? piped : (all[final] as CompiledExpression).evaluate(state, dot)
  })
  if (written.length === 0) return expression
  return { ...expression, last: state => (written[Math.min(state.decided?.[form] ?? 0, written.length - 1)] as CompiledExpression).last(state) }
}

function decide (state: RenderState, form: number, operand: number): void {
  state.decided ??= []
  state.decided[form] = operand
}

function assignsBehind (written: readonly CompiledExpression[], count: number): ReadonlyArray<readonly number[]> {
  const behind = new Array<readonly number[]>(count).fill([])
  for (let index = written.length - 2; index >= 0; index--) {
    const { assigns } = written[index + 1] as CompiledExpression
    const further = behind[index + 1] as readonly number[]
    behind[index] = assigns.length === 0 ? further : unionOf([assigns, further])
  }
  return behind
}

/** The value first, and the fallback only when there is none. */
function compileDefault (_context: Context, call: CallSite): CompiledExpression {
  const [fallback, value] = call.operands.all as [CompiledExpression, CompiledExpression]
  return callExpression(call, (state, dot) => {
    const result = value.evaluate(state, dot)
    if (result === PENDING) {
      skip(state, fallback.assigns)
      return PENDING
    }
    if (!isMissing(result)) return result
    state.frame?.trace.read(FALLBACK)
    return fallback.evaluate(state, dot)
  })
}

function isMissing (value: GoValue): boolean {
  return value === null || value === '' || value === NOTHING || value instanceof Absent
}

/** As in Go, the format is checked before the arguments after it are evaluated. */
function compileFormat (context: Context, call: CallSite): CompiledExpression {
  const { operands: { all, places, isPiped }, written } = call
  const last = all.length - 1
  const [first] = written
  const constant = first && constantProblem(first)
  const valueAt = (state: RenderState, index: number, value: GoValue): GoValue => {
    const known = resolveValue(state, value, places[index] as Position)
    const problem = index === 0 ? typeProblem(known, (all[0] as CompiledExpression).isBoxed) : undefined
    if (problem === undefined) return known
    throw failure(context, isPiped && last === 0 ? call.identifier : (all[0] as CompiledExpression).last(state), problem)
  }
  return callExpression(call, (state, dot) => {
    const piped = isPiped ? (all[last] as CompiledExpression).evaluate(state, dot) : null
    if (constant !== undefined) throw failure(context, first as Operand, constant)
    const values = all.map((operand, index) => valueAt(state, index, isPiped && index === last ? piped : operand.evaluate(state, dot)))
    if (values.includes(PENDING)) return PENDING
    const [text, ...args] = values
    return text === NOTHING ? NOTHING : format(state.builtins, text as string, args)
  })
}

function constantProblem (operand: Operand): string | undefined {
  switch (operand.type) {
    case 'nil': return 'cannot assign nil to string'
    case 'bool':
    case 'number': return `expected string; found ${describeNode(operand)}`
    default: return undefined
  }
}

function typeProblem (value: GoValue, isBoxed: boolean): string | undefined {
  if (typeof value === 'string' || value === PENDING || value === NOTHING) return undefined
  if (kindOf(value) === 'nil' && !isBoxed) return 'invalid value; expected string'
  return `wrong type for value; expected string; got ${kindOf(value) === 'nil' ? 'interface {}' : typeName(value)}`
}

const FORMS = new Map<string, readonly [least: number, most: number, compile: (context: Context, call: CallSite) => CompiledExpression]>([
  ['and', [1, Infinity, compileLogic]],
  ['or', [1, Infinity, compileLogic]],
  ['not', [1, 1, compileNot]],
  ['len', [1, 1, compileLength]],
  ['index', [1, Infinity, compileIndex]],
  ['slice', [1, Infinity, compileSlice]],
  ['printf', [1, Infinity, compileFormat]],
  ['call', [1, Infinity, compileFunctionCall]],
  ['default', [2, 2, compileDefault]]
])

export const GO_FUNCTION_NAMES: ReadonlySet<string> = new Set([...FORMS.keys(), ...BUILTINS.keys()])

export function callFunction (
  context: Context,
  identifier: IdentifierNode,
  node: Command | IdentifierNode,
  written: readonly Operand[],
  piped: CompiledExpression | undefined
): CompiledExpression {
  const expression = callByName(context, identifier, node, written, piped)
  // What a call gives is made of all that it read.
  return { ...expression, evaluate: observing(expression.evaluate, context.unit.isExplained, (from, { trace }) => trace.read(made([from]))) }
}

function callByName (
  context: Context,
  identifier: IdentifierNode,
  node: Command | IdentifierNode,
  written: readonly Operand[],
  piped: CompiledExpression | undefined
): CompiledExpression {
  const { unit } = context
  const { name } = identifier
  const call: CallSite = { name, identifier, node, operands: compileOperands(context, written, piped), written }
  const form = FORMS.get(name)
  if (form !== undefined) return checkCount(context, call, form[0], form[1]) ?? form[2](context, call)
  const builtin = BUILTINS.get(name)
  if (builtin !== undefined) return callBuiltin(context, call, builtin)
  const shared = unit.functions.get(name)
  return shared === undefined ? callTool(context, call) : callShared(context, call, shared)
}

function callBuiltin (context: Context, call: CallSite, builtin: Builtin): CompiledExpression {
  return checkCount(context, call, builtin.least, builtin.most) ?? applying(context, call, (state, values) => builtin.apply(state.builtins, values))
}

function callShared (context: Context, call: CallSite, { arity, apply }: TemplateFunction): CompiledExpression {
  return checkCount(context, call, arity.least, arity.most) ??
    applying(context, call, (state, values) => apply(allShared(state, values), state.builtins), resolveWhole)
}

/** Arguments go by position. A null result becomes `NOTHING`, so that every field of it is `NOTHING`, too. */
function callTool (context: Context, call: CallSite): CompiledExpression {
  const { identifier } = call
  const slot = context.unit.links.get(identifier) as number
  const at = placeOf(context, identifier)
  return applying(context, call, (state, values) => {
    const plain = allShared(state, values)
    measureArguments(plain, state.run)
    return state.run.call(state.links[slot] as LinkedTool, plain, {}, at) ?? NOTHING
  }, resolveWhole)
}

function applying (
  context: Context, call: CallSite, apply: (state: RenderState, values: readonly GoValue[]) => GoValue, resolve = resolveValue
): CompiledExpression {
  const { operands } = call
  return callExpression(call, (state, dot) => {
    const values = evaluateAll(operands, state, dot)
    return resolveValues(operands, state, values, 0, resolve) ? guarded(context, call, () => apply(state, values)) : PENDING
  })
}

interface CallSite {
  readonly name: string
  readonly identifier: IdentifierNode
  readonly node: Node
  readonly operands: Operands
  readonly written: readonly Operand[]
}

/** Go's messages name the last written argument, or the call's name when there is none. */
function callExpression ({ identifier, operands, node }: CallSite, evaluate: Evaluate): CompiledExpression {
  const { all, isPiped, assigns, size } = operands
  const last = all.at(isPiped ? -2 : -1)
  return {
    evaluate,
    assigns,
    size: size + 1,
    path: `(${describeNode(node)})`,
    isBoxed: false,
    last: last?.last ?? (() => identifier),
    start: identifier.offset
  }
}

/** Go checks the number before it evaluates the arguments. */
function checkCount (context: Context, call: CallSite, least: number, most: number): CompiledExpression | undefined {
  const count = call.operands.all.length
  if (count >= least && count <= most) return undefined
  const wanted = most === Infinity ? `at least ${least}` : String(least)
  const got = most === Infinity ? call.written.length : count
  const reason = `wrong number of args for ${call.name}: want ${wanted} got ${got}`
  noteFailing(context, call.identifier, reason)
  return callExpression(call, (state, dot) => {
    if (call.operands.isPiped) call.operands.all.at(-1)?.evaluate(state, dot)
    throw failure(context, call.identifier, reason)
  })
}

function guarded (context: Context, { node, name }: CallSite, run: () => GoValue): GoValue {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof CallError || error instanceof FunctionError)) throw error
    throw failure(context, node, `error calling ${name}: ${error.message}`)
  }
}

interface Operands {
  readonly all: readonly CompiledExpression[]
  readonly places: readonly Position[]
  /** Whether the last argument is piped, and so evaluated first. */
  readonly isPiped: boolean
  readonly assigns: readonly number[]
  readonly size: number
}

function compileOperands (context: Context, args: readonly Operand[], piped: CompiledExpression | undefined): Operands {
  const all = args.map(operand => context.unit.compilers.operand(context, operand))
  if (piped !== undefined) all.push(piped)
  return {
    all,
    places: all.map(({ start }) => context.unit.tree.source.position(start)),
    isPiped: piped !== undefined,
    assigns: unionOf(all.map(({ assigns }) => assigns)),
    size: all.reduce((sum, { size }) => sum + size, 0)
  }
}

/** Evaluates all arguments, the piped one first as in Go, and gives their values in the order of `all`. A value can still be a `LazyNode` or `Absent`. */
function evaluateAll ({ all, isPiped }: Operands, state: RenderState, dot: GoValue): GoValue[] {
  const values = new Array<GoValue>(all.length)
  const last = all.length - 1
  if (isPiped) values[last] = (all[last] as CompiledExpression).evaluate(state, dot)
  const count = isPiped ? last : all.length
  for (let index = 0; index < count; index++) values[index] = (all[index] as CompiledExpression).evaluate(state, dot)
  return values
}

function resolveValues ({ places }: Operands, state: RenderState, values: GoValue[], first = 0, settleOne = resolveValue): boolean {
  let isKnown = true
  for (let index = first; index < values.length; index++) {
    const value = settleOne(state, values[index] as GoValue, places[index] as Position)
    if (value === PENDING) isKnown = false
    values[index] = value
  }
  return isKnown
}
