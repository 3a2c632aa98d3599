import { NOWHERE } from '../provenance.ts'
import { dataMember, isRootName } from '../scope.ts'
import { Absent, isToolResult, LazyNode, NOTHING, PENDING } from '../value.ts'
import {
  type ChainNode, type Command, describeNode, describeOperand, type FieldNode, type Node, type NumberNode, type Operand, type Pipe, startOf,
  type StringNode, type VariableNode
} from './node.ts'
import { hasLoneSurrogate } from './bytes.ts'
import { GoComplex, goFloat, goInt, type GoMap, type GoValue, isGoDataName, kindOf, typeName } from './go-value.ts'
import { callFunction } from './call.ts'
import {
  type CompiledExpression, type Context, type Evaluate, failure, joinPath, noteFailing, observing, type PlainPath, plainPath, undefinedVariable
} from './code.ts'
import { frameOf, noteBytes, type RenderState, unionOf } from './render-state.ts'

/** An undefined variable is reported as a mistake where it is used. */
export function compilePipe (context: Context, pipe: Pipe): CompiledExpression {
  const value = compileCommands(context, pipe)
  return pipe.variables.length === 0 ? value : assign(context, pipe, value)
}

export function compileCommands (context: Context, pipe: Pipe): CompiledExpression {
  let value: CompiledExpression | undefined
  // At the end of a command Go forgets that a value came from a map.
  for (const command of pipe.commands) value = { ...compileCommand(context, pipe, command, value), isBoxed: false }
  return value as CompiledExpression
}

/** Only `range` has two variables, and handles them itself. */
function assign (context: Context, { variables, isAssignment }: Pipe, value: CompiledExpression): CompiledExpression {
  const [node] = variables as [VariableNode]
  const variable = isAssignment ? context.scope.find(node.name) : context.scope.declare(node.name, false, value.path)
  if (variable === undefined) return assignUnknown(context, node, value)
  if (isAssignment) variable.path = node.name
  const { slot } = variable
  const evaluate: Evaluate = (state, dot) => (state.variables[slot] = value.evaluate(state, dot))
  return {
    ...value,
    size: value.size + 1,
    assigns: unionOf([value.assigns, [slot]]),
    evaluate: observing(evaluate, context.unit.isExplained, (from, { slots, trace }) => {
      slots[slot] = from
      trace.read(from)
    })
  }
}

function assignUnknown (context: Context, node: VariableNode, value: CompiledExpression): CompiledExpression {
  const reason = undefinedVariable(context, node)
  return {
    ...value,
    evaluate: (state, dot) => {
      value.evaluate(state, dot)
      throw failure(context, value.last(state), reason)
    }
  }
}

function compileCommand (context: Context, pipe: Pipe, command: Command, piped: CompiledExpression | undefined): CompiledExpression {
  const [first, ...others] = command.operands as [Operand, ...Operand[]]
  if (first.type === 'identifier') return callFunction(context, first, command, others, piped)
  if (others.length === 0 && piped === undefined) return first.type === 'nil' ? failing(context, first, 'nil is not a command') : compileOperand(context, first)
  switch (first.type) {
    case 'field': return fieldWithArguments(context, first, first.names, dotExpression(context, first), piped)
    case 'chain': return fieldWithArguments(context, first, first.fields, compileOperand(context, first.base), piped)
    case 'variable':
      if (first.fields.length > 0) return fieldWithArguments(context, first, first.fields, variableExpression(context, first), piped)
  }
  return notAFunction(context, first, first.type === 'pipe' ? pipe : first, piped)
}

/**
 * Compiles a value that has arguments as if it were a function, which is a mistake: the expression fails. Go reports this before it looks at the
 * arguments, and before it looks into a pipeline in parentheses.
 */
function notAFunction (context: Context, first: Operand, blamed: Node, piped: CompiledExpression | undefined): CompiledExpression {
  const isUnknown = first.type === 'variable' && context.scope.find(first.name) === undefined
  const reason = isUnknown ? undefinedVariable(context, first) : `can't give argument to non-function ${describeNode(first)}`
  if (piped === undefined) return failing(context, blamed, reason)
  return {
    ...failing(context, first, reason),
    assigns: piped.assigns,
    evaluate: (state, dot) => {
      piped.evaluate(state, dot)
      throw failure(context, first.type === 'pipe' ? piped.last(state) : blamed, reason)
    }
  }
}

/** Fails where the field would be in a map or shared variables; of any other value it is read without arguments. */
function fieldWithArguments (
  context: Context, node: Operand, names: readonly string[], base: CompiledExpression, piped: CompiledExpression | undefined
): CompiledExpression {
  const holder = names.length === 1 ? base : fieldsOf(context, node, base, names.slice(0, -1))
  const name = names.at(-1) as string
  const path = joinPath(base.path, names.join('.'))
  const last = node.type === 'chain' ? base.last : () => node
  const member = memberOf(context, [name], last)
  const reason = `${name} is not a method but has arguments`
  noteFailing(context, node, reason)
  const evaluate: Evaluate = (state, dot) => {
    piped?.evaluate(state, dot)
    const receiver = holder.evaluate(state, dot)
    const isField = receiver instanceof LazyNode || (kindOf(receiver) === 'map' && !(receiver instanceof Absent) && receiver !== PENDING)
    if (isField) throw failure(context, last(state), reason)
    return member(state, receiver, name, path, holder.isBoxed)
  }
  return { ...holder, evaluate, assigns: unionOf([piped?.assigns ?? [], holder.assigns]), isBoxed: true, path, last }
}

function failing (context: Context, node: Node, reason: string): CompiledExpression {
  noteFailing(context, node, reason)
  return leaf(node, '', () => {
    throw failure(context, node, reason)
  }, false)
}

export function compileOperand (context: Context, operand: Operand): CompiledExpression {
  switch (operand.type) {
    case 'pipe': return compilePipe(context, operand)
    case 'identifier': return callFunction(context, operand, operand, [], undefined)
    case 'field': return compileField(context, operand)
    case 'variable': return compileVariable(context, operand)
    case 'chain': return compileChain(context, operand)
    case 'dot': return dotExpression(context, operand)
    case 'number': return compileNumber(context, operand)
    case 'string': return compileText(operand)
    case 'bool': return constant(operand, operand.value)
    case 'nil': return constant(operand, null)
  }
}

function pathOf (context: Context, operand: Operand): PlainPath | undefined {
  switch (operand.type) {
    case 'field': return plainPath(-1, operand.names)
    case 'variable': {
      const variable = context.scope.find(operand.name)
      return variable && plainPath(variable.slot, operand.fields)
    }
    case 'dot': return plainPath(-1, [])
    default: return undefined
  }
}

export function pathOfPipe (context: Context, { commands: [command, ...more], variables }: Pick<Pipe, 'commands' | 'variables'>): PlainPath | undefined {
  const [operand, ...others] = command?.operands ?? []
  return operand === undefined || more.length + others.length + variables.length > 0 ? undefined : pathOf(context, operand)
}

function constant (node: Operand, value: GoValue): CompiledExpression {
  return leaf(node, describeOperand(node), () => value, false)
}

function leaf (node: Node, path: string, evaluate: Evaluate, isBoxed: CompiledExpression['isBoxed']): CompiledExpression {
  return { evaluate, assigns: [], size: 1, path, isBoxed, last: () => node, start: startOf(node) }
}

function compileNumber (context: Context, node: NumberNode): CompiledExpression {
  const { literal, text } = node
  if (literal.complex !== undefined) return constant(node, new GoComplex(literal.complex.real, literal.complex.imaginary))
  const looksLikeFloat = /[.eEpP]/.test(text) && !text.startsWith("'") && !(/^0[xX]./.test(text) && !/[pP]/.test(text))
  if (literal.float !== undefined && looksLikeFloat) return constant(node, goFloat(literal.float))
  if (literal.integer !== undefined) return constant(node, goInt(literal.integer))
  return failing(context, node, `${text} overflows int`)
}

function compileText (node: StringNode): CompiledExpression {
  const expression = constant(node, node.text)
  return hasLoneSurrogate(node.text) ? { ...expression, evaluate: state => noteBytes(state, node.text) } : expression
}

function dotExpression ({ scope: { dot }, unit }: Context, node: Node): CompiledExpression {
  return leaf(node, dot.path ?? '.', unit.isExplained ? readingSlot(-1, readDot) : readDot, dot.isBoxed)
}

const readDot: Evaluate = (_state, dot) => dot

/** -1 is the dot. */
function readingSlot (slot: number, evaluate: Evaluate): Evaluate {
  return (state, dot) => {
    const frame = frameOf(state)
    frame.trace.read(frame.provenanceOf(slot))
    return evaluate(state, dot)
  }
}

function compileVariable (context: Context, node: VariableNode): CompiledExpression {
  const variable = variableExpression(context, node)
  return node.fields.length === 0 ? variable : fieldsOf(context, node, variable, node.fields)
}

function variableExpression (context: Context, node: VariableNode): CompiledExpression {
  const variable = context.scope.find(node.name)
  if (variable === undefined) return failing(context, node, undefinedVariable(context, node))
  const { slot, isBoxed, path } = variable
  const read: Evaluate = state => state.variables[slot] ?? null
  return leaf(node, path, context.unit.isExplained ? readingSlot(slot, read) : read, isBoxed)
}

function compileChain (context: Context, node: ChainNode): CompiledExpression {
  if (node.base.type === 'nil') return failing(context, node, `indirection through explicit nil in ${describeOperand(node)}`)
  return fieldsOf(context, node, compileOperand(context, node.base), node.fields)
}

/** In a partial, a name that the argument lacks and the scope root has is read at the root. */
function compileField (context: Context, node: FieldNode): CompiledExpression {
  const { scope, isMain, unit } = context
  const base = dotExpression(context, node)
  if (!isMain || !scope.dot.isInitial) return fieldsOf(context, node, base, node.names)
  const [name = ''] = node.names
  const evaluate: Evaluate = (state, dot) => lacksRootName(state, dot, name) ? state.root : dot
  return fieldsOf(context, node, { ...base, size: 0, evaluate: unit.isExplained ? readingHolder(name) : evaluate }, node.names)
}

function readingHolder (name: string): Evaluate {
  return (state, dot) => {
    const { trace, dot: ofDot } = frameOf(state)
    const { mark } = trace
    const isOfRoot = lacksRootName(state, dot, name)
    trace.drop(mark)
    trace.read(isOfRoot || dot === state.root ? NOWHERE : ofDot)
    return isOfRoot ? state.root : dot
  }
}

/** A pending argument might have the field. */
function lacksRootName (state: RenderState, argument: GoValue, name: string): boolean {
  if (argument === state.root || argument === PENDING) return false
  if (typeof argument !== 'object' || argument === null) return isRootName(name, state.run)
  if (argument instanceof LazyNode) return isRootName(name, state.run) && argument.field(name) instanceof Absent
  return !(kindOf(argument) === 'map' && Object.hasOwn(argument, name)) && isRootName(name, state.run)
}

function fieldsOf (context: Context, node: Operand, base: CompiledExpression, names: readonly string[]): CompiledExpression {
  let path = base.path
  const paths = names.map(name => (path = joinPath(path, name)))
  // Go's messages name the node evaluated last: what is in the parentheses, else the node.
  const last = node.type === 'chain' ? base.last : () => node
  const member = memberOf(context, names, last)
  const { evaluate, isBoxed, assigns } = base
  const [name = ''] = names
  const [firstPath = ''] = paths
  const read: Evaluate = (state, receiver) => {
    let value = member(state, receiver, name, firstPath, isBoxed)
    for (let index = 1; index < names.length; index++) value = member(state, value, names[index] as string, paths[index] as string, true)
    return value
  }
  return {
    evaluate: context.unit.isExplained ? readingFields(evaluate, names, read) : evaluate === readDot ? read : (state, dot) => read(state, evaluate(state, dot)),
    assigns,
    size: base.size + names.length,
    path,
    isBoxed: true,
    last,
    start: startOf(node)
  }
}

function readingFields (base: Evaluate, names: readonly string[], read: Evaluate): Evaluate {
  const rest = names.slice(1)
  return (state, dot) => {
    const { trace } = frameOf(state)
    const { mark } = trace
    const receiver = base(state, dot)
    const from = trace.take(mark)
    const value = read(state, receiver)
    if (!trace.readBelow(from, names, rest, value, mark)) trace.follow(from, receiver, names)
    return value
  }
}

/** `isBoxed`: Go would have an `interface {}`, which its messages then name. */
type Member = (state: RenderState, receiver: GoValue, name: string, path: string, isBoxed: boolean) => GoValue

function memberOf (context: Context, names: readonly string[], last: (state: RenderState) => Node): Member {
  const careful = carefulMember(context, last)
  return names.every(isGoDataName) ? quickMember(careful) : careful
}

/** Faster: a value with a member of a name that JavaScript does not use is a map, without further checks. */
function quickMember (careful: Member): Member {
  return (state, receiver, name, path, isBoxed) => {
    if (typeof receiver !== 'object' || receiver === null) return careful(state, receiver, name, path, isBoxed)
    const value = dataMember(receiver, name)
    if (value === undefined) return careful(state, receiver, name, path, isBoxed)
    return value === null && isToolResult(receiver) ? NOTHING : value
  }
}

/** A missing field is `Absent` or, inside a tool's result, `NOTHING`. */
function carefulMember (context: Context, last: (state: RenderState) => Node): Member {
  return (state, receiver, name, path, isBoxed) => {
    if (receiver === null) {
      if (!isBoxed) return new Absent(path)
      throw failure(context, last(state), `nil pointer evaluating interface {}.${name}`)
    }
    if (receiver === PENDING || receiver === NOTHING) return receiver
    if (receiver instanceof LazyNode) return receiver.field(name)
    if (receiver instanceof Absent) return new Absent(joinPath(receiver.path, name))
    if (kindOf(receiver) === 'map') return memberOfMap(receiver as GoMap, name, path)
    if (Array.isArray(receiver) && isToolResult(receiver)) return NOTHING
    throw failure(context, last(state), cannotEvaluate(receiver, name, isBoxed))
  }
}

function memberOfMap (map: GoMap, name: string, path: string): GoValue {
  const value = Object.hasOwn(map, name) ? map[name] : undefined
  if (isToolResult(map)) return value ?? NOTHING
  return value === undefined ? new Absent(path) : value
}

function cannotEvaluate (receiver: GoValue, name: string, isBoxed: boolean): string {
  return `can't evaluate field ${name} in type ${isBoxed ? 'interface {}' : typeName(receiver)}`
}
