import type { LinkedPartial } from '../language.ts'
import { enterPartial } from '../scope.ts'
import type { Position } from '../tags.ts'
import { Absent, isToolResult, LazyNode, memberNames, NOTHING, PENDING } from '../value.ts'
import { sortedKeys } from './bytes.ts'
import { intText } from './format-number.ts'
import { GoByte, type GoMap, type GoValue, integerOf, kindOf, toPlain, truthOf } from './go-value.ts'
import type { ActionNode, BranchNode, ListNode, Pipe, Statement, TemplateNode, TextNode } from './node.ts'
import { compileCommands, compilePipe, pathOfPipe } from './expression.ts'
import { Jump, type RenderState, maybe, resolveValue, skip, toShared, TraceFrame, unionOf } from './render-state.ts'
import {
  type Body, type CompiledBlock, type CompiledExpression, type Context, type Dot, type Evaluate, failure, joinPath, Kind, type List, placeOf,
  type RangeHeader, undefinedVariable, type Variable, type Write
} from './code.ts'
import { writeList } from './write-list.ts'

export function compileStatement (context: Context, node: Exclude<Statement, TextNode>): CompiledBlock {
  switch (node.type) {
    case 'action': return compileAction(context, node)
    case 'template': return compileTemplateCall(context, node)
    case 'range': return context.scope.nested(() => compileRange(context, node))
    case 'break': return jump(Jump.Break)
    case 'continue': return jump(Jump.Continue)
    default: return context.scope.nested(() => compileBranch(context, node))
  }
}

function jump (kind: number): CompiledBlock {
  const write: Write = (state, _dot, _value, before) => {
    state.jump = kind
    return before
  }
  return { ...NO_STATEMENT, write, jumps: kind, size: 1 }
}

function compileAction (context: Context, node: ActionNode): CompiledBlock {
  if (node.pipe.variables.length === 0) return compilePrinting(context, node, placeOf(context, node))
  const { evaluate, assigns, size } = compilePipe(context, node.pipe)
  return { ...NO_STATEMENT, evaluate, assigns, size }
}

function compilePrinting (context: Context, { pipe }: ActionNode, at: Position): CompiledBlock {
  const { evaluate, assigns, size } = compilePipe(context, pipe)
  const print = printerAt(at)
  const write: Write = (state, _dot, value, before) => before + print(state, value)
  return { evaluate, path: pathOfPipe(context, pipe), kind: Kind.Print, write, at, assigns, jumps: 0, size }
}

function printerAt (at: Position): (state: RenderState, value: GoValue) => string {
  return (state, value) => {
    if (typeof value === 'string') return value
    if (typeof value === 'number' && Number.isSafeInteger(value)) return intText(value)
    const known = typeof value === 'object' ? resolveValue(state, value, at) : value
    if (known === PENDING) {
      state.run.unfinished = true
      return ''
    }
    if (known === null) return ''
    return state.builtins.printer.text(known)
  }
}

function compileBranch (context: Context, node: BranchNode): CompiledBlock {
  const { scope } = context
  const setsDot = node.type === 'with'
  const condition = compilePipe(context, node.pipe)
  const path = pathOfPipe(context, node.pipe)
  const dot: Dot = setsDot ? { path: condition.path, isBoxed: false, isInitial: false } : scope.dot
  const list = scope.withDot(dot, () => scope.block(() => context.unit.compilers.list(context, node.list)))
  const otherwise = compileElse(context, node.otherwise)
  const branches = unionOf([list.assigns, otherwise?.assigns ?? []])
  const jumps = list.jumps | (otherwise?.jumps ?? 0)
  return {
    evaluate: condition.evaluate,
    path,
    kind: setsDot ? Kind.Other : Kind.If,
    write: writeBranch(list, setsDot, otherwise, branches, maybe(jumps)),
    list,
    assigns: unionOf([condition.assigns, branches]),
    jumps,
    size: condition.size + 1
  }
}

function writeBranch (list: List, setsDot: boolean, otherwise: List | undefined, assigns: readonly number[], maybeJumps: number): Write {
  return (state, dot, value, before) => {
    const truth = truthOf(value)
    if (truth === true) return setsDot ? writeWith(state, list, value, before) : writeList(state, list, dot, before)
    if (truth === false) return otherwise === undefined ? before : writeList(state, otherwise, dot, before)
    skip(state, assigns)
    state.jump = maybeJumps
    return before
  }
}

function writeWith (state: RenderState, list: List, value: GoValue, before: string): string {
  const { frame } = state
  if (frame !== undefined) state.frame = new TraceFrame(frame.trace, frame.from, frame.slots)
  const text = writeList(state, list, value, before)
  state.frame = frame
  return text
}

function compileTemplateCall (context: Context, node: TemplateNode): CompiledBlock {
  const argument = node.pipe === undefined ? undefined : compilePipe(context, node.pipe)
  const body = context.unit.bodies.get(node.name)
  return {
    evaluate: argument?.evaluate ?? (() => null),
    path: node.pipe && pathOfPipe(context, node.pipe),
    kind: Kind.Other,
    write: body === undefined ? writePartial(context, node) : writeBody(context, node, body),
    assigns: argument?.assigns ?? [],
    jumps: 0,
    size: (argument?.size ?? 0) + 1
  }
}

function writeBody (context: Context, node: TemplateNode, body: Body): Write {
  const blocks = context.scope.depth
  const at = placeOf(context, node.pipe ?? node)
  return (state, _dot, value, before) => {
    state.run.enter(blocks)
    const argument = argumentOf(state, value, at)
    const { variables, frame } = state
    state.variables = new Array<GoValue>(body.slots)
    state.variables[0] = argument
    if (frame !== undefined) state.frame = new TraceFrame(frame.trace, frame.from)
    const text = writeList(state, body.list, argument, before)
    state.frame = frame
    state.variables = variables
    state.run.leave(blocks)
    return text
  }
}

function writePartial (context: Context, node: TemplateNode): Write {
  const slot = context.unit.links.get(node) as number
  const blocks = context.scope.depth
  const at = placeOf(context, node.pipe ?? node)
  return (state, _dot, value, before) => {
    const known = argumentOf(state, value, at)
    const { run, root: outer } = state
    const { id, template: { syntax }, write, root } = ((state.partials ??= [])[slot] ??= enterPartial(run, state.links[slot] as LinkedPartial, outer))
    // The partial's own scope root has the defaults that it declares for variables the caller left out.
    const argument = known === outer ? root : syntax === 'go' ? toPlain(known) : toShared(state, known)
    const { within } = run
    state.frame?.trace.hand(state.frame.from)
    run.enter(blocks)
    run.within = id
    const text = write(argument, before)
    run.within = within
    run.leave(blocks)
    return text
  }
}

/** A `LazyNode` is not read here, and an absent value is noted as missing. */
function argumentOf ({ run }: RenderState, value: GoValue, at: Position): GoValue {
  return value instanceof Absent ? run.miss(value, at) : value
}

/** In visits. */
const WORK_PER_SORTED_NAME = 4

interface Loop {
  readonly header: RangeHeader
  readonly body: List
  readonly skipped: readonly number[]
}

function compileRange (context: Context, node: BranchNode): CompiledBlock {
  const { scope, unit } = context
  const list = compileCommands(context, node.pipe)
  const path = pathOfPipe(context, { commands: node.pipe.commands, variables: [] })
  const elementPath = joinPath(list.path, '*')
  const unknown = node.pipe.isAssignment ? node.pipe.variables.find(({ name }) => scope.find(name) === undefined) : undefined
  const problem = unknown === undefined ? undefined : undefinedVariable(context, unknown)
  const variables = unknown === undefined ? headerVariables(context, node.pipe, list.path) : []
  const header = headerOf(variables, node.pipe.isAssignment)
  setPaths(variables, elementPath, true)
  const body = scope.withDot({ path: elementPath, isBoxed: true, isInitial: false }, () => scope.block(() => unit.compilers.list(context, node.list)))
  setPaths(variables, list.path, false)
  const otherwise = compileElse(context, node.otherwise)
  const inside = unionOf([body.assigns, otherwise?.assigns ?? []])
  // In the else list `break` ends this range, `continue` concerns the loop around it.
  const jumps = (otherwise?.jumps ?? 0) & Jump.Continue
  const loop: Loop = { header, body, skipped: unionOf([body.assigns, header.isAssignment ? header.assigns : []]) }
  const iterate = iteration(context, list, loop)
  const at = placeOf(context, node.pipe)
  const loopOver: Write = (state, dot, value, before) => {
    if (problem !== undefined) throw failure(context, list.last(state), problem)
    if (Array.isArray(value) && value.length > 0) return overList(state, loop, value as readonly GoValue[], before)
    const known = otherwise === undefined && value instanceof Absent ? state.run.miss(value, at) : value
    setHeader(state, loop, known)
    const text = iterate(state, known, before)
    if (text === PENDING) {
      skip(state, inside)
      state.jump = maybe(jumps)
      return before
    }
    if (text !== undefined) return text as string
    return otherwise === undefined ? before : writeElse(state, dot, otherwise, before)
  }
  const write: Write = (state, dot, value, before) => {
    const { frame } = state
    if (frame !== undefined) state.frame = enterLoop(frame, header)
    const text = loopOver(state, dot, value, before)
    state.frame = frame
    return text
  }
  return {
    evaluate: list.evaluate,
    path,
    kind: Kind.Other,
    write,
    assigns: unionOf([list.assigns, header.assigns, inside]),
    jumps,
    size: list.size + variables.length + 1
  }
}

function enterLoop ({ trace, dot, slots, from }: TraceFrame, { assigns }: RangeHeader): TraceFrame {
  for (const slot of assigns) slots[slot] = from
  const inner = new TraceFrame(trace, dot, slots)
  inner.ofList = from
  return inner
}

function writeElse (state: RenderState, dot: GoValue, list: List, before: string): string {
  const text = writeList(state, list, dot, before)
  state.jump &= ~(Jump.Break | Jump.MaybeBreak)
  return text
}

function headerVariables ({ scope }: Context, { variables, isAssignment }: Pipe, path: string): Variable[] {
  return variables.map(({ name }) => (isAssignment ? scope.find(name) : undefined) ?? scope.declare(name, true, path))
}

function headerOf (variables: readonly Variable[], isAssignment: boolean): RangeHeader {
  const slots = variables.map(({ slot }) => slot)
  return { key: slots.length > 1 ? slots[0] as number : -1, element: slots.at(-1) ?? -1, assigns: unionOf([slots]), isAssignment }
}

/** The last variable is an element in the body; in the else list all are the value that was looped over. */
function setPaths (variables: readonly Variable[], path: string, isInBody: boolean): void {
  for (const [index, variable] of variables.entries()) {
    const isElement = index === variables.length - 1
    variable.isBoxed = isInBody && isElement
    variable.path = isElement || !isInBody ? path : variable.name
  }
}

function setHeader ({ variables }: RenderState, { header: { key, element } }: Loop, value: GoValue): void {
  if (key >= 0) variables[key] = value
  if (element >= 0) variables[element] = value
}

/** Its loop is `undefined` when there is nothing to loop over; `PENDING` when the value is unknown. */
function iteration (context: Context, list: CompiledExpression, loop: Loop) {
  return (state: RenderState, value: GoValue, before: string): string | typeof PENDING | undefined => {
    if (value === null || value === NOTHING || value instanceof Absent || Array.isArray(value)) return undefined
    if (value === PENDING) return PENDING
    if (value instanceof LazyNode) return overBranch(state, loop, value, before)
    const kind = kindOf(value)
    if (kind === 'map') return overMap(state, loop, value as GoMap, before)
    if (kind === 'int' || kind === 'uint8') {
      if (loop.header.key < 0) return overInteger(state, loop, value, before)
      throw failure(context, list.last(state), `can't use ${state.builtins.printer.text(value)} to iterate over more than one variable`)
    }
    throw failure(context, list.last(state), `range can't iterate over ${state.builtins.printer.text(value)}`)
  }
}

function overList (state: RenderState, loop: Loop, list: readonly GoValue[], before: string): string {
  let text = before
  for (let index = 0; index < list.length; index++) {
    const element = list[index] as GoValue
    text = iterateOnce(state, loop, list, index, element === null && isToolResult(list) ? NOTHING : element, text)
    if (endsLoop(state, loop, text, index + 1 < list.length)) break
  }
  return text
}

function overMap (state: RenderState, loop: Loop, map: GoMap, before: string): string | undefined {
  const count = memberNames(map).length
  if (count === 0) return undefined
  state.run.charge(count * WORK_PER_SORTED_NAME)
  const keys = sortedKeys(map)
  const isFromTool = isToolResult(map)
  let text = before
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string
    const element = map[key] as GoValue
    text = iterateOnce(state, loop, map, key, element === null && isFromTool ? NOTHING : element, text)
    if (endsLoop(state, loop, text, index + 1 < keys.length)) break
  }
  return text
}

/** Members stay lazy: each is fetched only when it is used. */
function overBranch (state: RenderState, loop: Loop, branch: LazyNode, before: string): string | typeof PENDING | undefined {
  const keys = branch.keys()
  if (keys === PENDING) return PENDING
  const names = keys as readonly string[]
  if (names.length === 0) return undefined
  state.run.charge(names.length)
  let text = before
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as string
    text = iterateOnce(state, loop, branch, name, branch.field(name), text)
    if (endsLoop(state, loop, text, index + 1 < names.length)) break
  }
  return text
}

/** The integers have the type of `value`: int or uint8. */
function overInteger (state: RenderState, loop: Loop, value: GoValue, before: string): string | undefined {
  const count = integerOf(value)
  if (count <= 0) return undefined
  let text = before
  // No bigint: the limit of visits is reached long before 2^53.
  for (let index = 0; index < count; index++) {
    // Costs a visit because it is made here, whereas elements of a list exist.
    state.run.charge(1)
    text = iterateOnce(state, loop, value, null, value instanceof GoByte ? new GoByte(index) : index, text)
    if (endsLoop(state, loop, text, index + 1 < count)) break
  }
  return text
}

function iterateOnce (state: RenderState, { header, body }: Loop, holder: GoValue, key: GoValue, element: GoValue, before: string): string {
  const { variables, frame } = state
  if (header.key >= 0) variables[header.key] = key
  if (header.element >= 0) variables[header.element] = element
  if (frame !== undefined) {
    frame.dot = frame.trace.element(frame.ofList, holder, key as string | number)
    // A key has no members, so it can share its element's provenance.
    for (const slot of header.assigns) frame.slots[slot] = frame.dot
  }
  return writeList(state, body, element, before)
}

function endsLoop (state: RenderState, loop: Loop, text: string, hasMore: boolean): boolean {
  if (text.length > state.outputLimit) state.run.checkOutput(text.length)
  const { jump } = state
  if (jump === Jump.None) return false
  state.jump = Jump.None
  if ((jump & Jump.Break) !== 0) return true
  if ((jump & Jump.MaybeBreak) === 0) return false
  if (hasMore) skip(state, loop.skipped)
  return true
}

const nothing: Evaluate = () => null

export const NO_STATEMENT: CompiledBlock = {
  evaluate: nothing,
  path: undefined,
  kind: Kind.Other,
  write: (_machine, _dot, _value, before) => before,
  assigns: [],
  jumps: 0,
  size: 0
}

function compileElse (context: Context, list: ListNode | undefined): List | undefined {
  return list === undefined ? undefined : context.scope.block(() => context.unit.compilers.list(context, list))
}
