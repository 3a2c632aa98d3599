import { traceOf } from '../scope.ts'
import type { LiteralText } from '../trace.ts'
import type { TemplateFunction } from '../template-function.ts'
import { FUNCTIONS } from '../functions.ts'
import {
  type FailingPart, type Language, type OpenTemplate, type PartialCall, type Reference, type RunFrame, type Template, type TemplateSource, truthOfLogic,
  type UnreachablePart
} from '../language.ts'
import type { RenderRun } from '../run.ts'
import { compileStatement } from './statement.ts'
import { GO_FUNCTION_NAMES } from './call.ts'
import { type Body, type Context, type List, type ListStep, placeOf, type Unit, VariableScope } from './code.ts'
import { RenderState, TraceFrame, unionOf } from './render-state.ts'
import { compileOperand } from './expression.ts'
import { writeList } from './write-list.ts'
import { findPaths } from './needs.ts'
import {
  type BranchNode, describeNode, describeOperand, type IdentifierNode, type ListNode, MAIN_BODY, type Node, type Operand, type Pipe, startOf,
  type Statement, type TemplateNode, type Tree
} from './node.ts'
import { parse } from './parser.ts'
import { hasLoneSurrogate, toUnicode, toUnicodePieces } from './bytes.ts'
import type { GoValue } from './go-value.ts'

/** In UTF-16 units. */
const LENGTH_PER_WORK_UNIT = 16

/** The syntax of Go's text/template, compiled into closures once. Every name that is not in `functions` is a tool's. */
export function createGoLanguage (functions: ReadonlyMap<string, TemplateFunction>): Language {
  const isKnown = (word: string): boolean => GO_FUNCTION_NAMES.has(word) || functions.has(word)
  return {
    syntax: 'go',
    compile: ({ text, explain = false }: TemplateSource): Template => {
      const tree = parse(text)
      const { paths, calls, isComplete } = findPaths(tree)
      const { references, links } = findReferences(tree, isKnown, calls)
      const { body, failing } = compileTree(tree, { functions, links, isExplained: explain })
      return {
        syntax: 'go',
        references,
        paths,
        hasMorePaths: !isComplete,
        unreachable: findUnreachable(tree),
        failing,
        open: (run, frame) => openTemplate(run, frame, body, explain)
      }
    }
  }
}

/** Lone surrogates stand for Go's single bytes here; other code does not know them. */
function unicodeOutput (run: RenderRun, text: string, start: number): string {
  if (!hasLoneSurrogate(text)) return text
  run.charge(Math.ceil(text.length / LENGTH_PER_WORK_UNIT))
  return run.trace === undefined ? toUnicode(text) : run.trace.rewrite(start, toUnicodePieces)
}

function openTemplate (run: RenderRun, frame: RunFrame, { list, slots }: Body, isExplained: boolean): OpenTemplate {
  // Kept for the next time, so that a partial in a loop needs one; a template within itself gets its own.
  let idle: RenderState | undefined
  return (dot, before) => {
    const state = idle ?? new RenderState(run, frame, new Array<GoValue>(slots))
    idle = undefined
    state.variables[0] = dot
    if (isExplained) state.frame = enterTemplate(run)
    const text = before === undefined ? writeWhole(state, list, dot) : writeList(state, list, dot, before)
    idle = state
    return text
  }
}

function writeWhole (state: RenderState, list: List, dot: GoValue): string {
  const { run } = state
  const start = run.trace?.end ?? 0
  const text = writeList(state, list, dot, '')
  run.checkOutput(text.length)
  return run.holdsBytes ? unicodeOutput(run, text, start) : text
}

function enterTemplate (run: RenderRun): TraceFrame {
  const trace = traceOf(run)
  return new TraceFrame(trace, trace.takeArgument())
}

function compileTree (
  tree: Tree, options: Pick<Unit, 'functions' | 'links' | 'isExplained'>
): { readonly body: Body, readonly failing: readonly FailingPart[] } {
  const bodies = new Map([...tree.bodies.keys()].map((name): [string | undefined, Body] => [name, { list: EMPTY_LIST, slots: 0 }]))
  const unit: Unit = { ...options, compilers: { operand: compileOperand, list: compileList }, tree, bodies, failing: [], forms: 0 }
  for (const [name, node] of tree.bodies) {
    const isMain = name === MAIN_BODY
    const scope = new VariableScope({ path: isMain ? '' : undefined, isBoxed: false, isInitial: true })
    const list = compileList({ unit, isMain, scope }, node)
    const body = bodies.get(name) as Body
    body.list = list
    body.slots = scope.slots
  }
  const failing = unit.failing.sort((left, right) => left.line - right.line || left.column - right.column)
  return { body: bodies.get(MAIN_BODY) as Body, failing }
}

/** A compiled list without statements. */
const EMPTY_LIST: List = { steps: [], tail: '', tailTexts: [], cost: 1, assigns: [], jumps: 0 }

const NO_TEXTS: readonly LiteralText[] = []

function compileList (context: Context, { nodes }: ListNode): List {
  const steps: ListStep[] = []
  let text = ''
  let texts = NO_TEXTS
  for (const node of nodes) {
    if (node.type === 'text') {
      text += node.text
      if (context.unit.isExplained) texts = [...texts, { text: node.text, ...placeOf(context, node) }]
    } else {
      // All steps have the same members in the same order: V8 then reads them faster in `writeList`.
      const { evaluate, path, kind, write, list, at, assigns, jumps, size } = compileStatement(context, node)
      steps.push({ before: text, beforeTexts: texts, evaluate, path, kind, write, list, at, assigns, jumps, size })
      text = ''
      texts = NO_TEXTS
    }
  }
  return {
    steps,
    tail: text,
    tailTexts: texts,
    // Even an empty list has a cost: a loop over nothing must not be free.
    cost: Math.max(steps.reduce((sum, { size }) => sum + size, nodes.length), 1),
    assigns: unionOf(steps.map(({ assigns }) => assigns)),
    jumps: steps.reduce((all, { jumps }) => all | jumps, 0)
  }
}

function findUnreachable (tree: Tree): readonly UnreachablePart[] {
  const found: Array<{ offset: number, reason: string }> = []
  const report = (nodes: readonly Statement[], reason: string): void => {
    const first = nodes.find(node => !isBlank(node))
    if (first !== undefined) found.push({ offset: startOf(first), reason })
  }

  function walk ({ nodes }: ListNode): void {
    const jump = nodes.findIndex(({ type }) => type === 'break' || type === 'continue')
    const reached = jump === -1 ? nodes : nodes.slice(0, jump)
    for (const node of reached) if ('list' in node) walkBranch(node)
    if (jump !== -1) report(nodes.slice(jump + 1), `it follows {{${(nodes[jump] as Statement).type}}}`)
  }

  function walkBranch (node: BranchNode): void {
    const { list, otherwise = { nodes: [] } } = node
    const truth = node.type === 'range' ? truthOfRange(node.pipe) : truthOfPipe(node.pipe)
    const reason = `the condition is always ${String(truth)}`
    if (truth === false) report(list.nodes, reason)
    else walk(list)
    if (truth === true) report(otherwise.nodes, reason)
    else walk(otherwise)
  }

  for (const list of tree.bodies.values()) walk(list)
  return found
    .sort((left, right) => left.offset - right.offset)
    .map(({ offset, reason }) => ({ reason, ...tree.source.position(offset) }))
}

function isBlank (node: Statement): boolean {
  return node.type === 'text' && node.text.trim() === ''
}

/** `undefined` unless it loops over a number that is written in the template. */
function truthOfRange (pipe: Pipe): boolean | undefined {
  const operand = soleOperand(pipe)
  return operand?.type === 'number' ? truthOfOperand(operand) : undefined
}

function truthOfPipe ({ commands: [command, ...others] }: Pipe): boolean | undefined {
  if (command === undefined || others.length > 0) return undefined
  const [first, ...rest] = command.operands as [Operand, ...Operand[]]
  if (first.type !== 'identifier') return rest.length === 0 ? truthOfOperand(first) : undefined
  return truthOfLogic(first.name, rest.map(truthOfOperand))
}

function truthOfOperand (operand: Operand): boolean | undefined {
  switch (operand.type) {
    case 'bool': return operand.value
    case 'string': return operand.text !== ''
    case 'number': return operand.literal.float === undefined ? undefined : operand.literal.float !== 0
    case 'pipe': return truthOfPipe(operand)
    default: return undefined
  }
}

function soleOperand ({ commands }: Pipe): Operand | undefined {
  const operands = commands.flatMap(command => command.operands)
  return operands.length === 1 ? operands[0] : undefined
}

function findReferences (tree: Tree, isFunction: (name: string) => boolean, calls: ReadonlyMap<TemplateNode, readonly PartialCall[]>): {
  readonly references: readonly Reference[]
  readonly links: ReadonlyMap<Node, number>
} {
  const found: Array<{ readonly node: IdentifierNode | TemplateNode, readonly args: readonly string[] }> = []

  function walkList ({ nodes }: ListNode): void {
    for (const node of nodes) {
      if ('pipe' in node && node.pipe !== undefined) walkPipe(node.pipe)
      if ('list' in node) walkList(node.list)
      if ('otherwise' in node && node.otherwise !== undefined) walkList(node.otherwise)
      if (node.type === 'template' && !tree.bodies.has(node.name)) found.push({ node, args: node.pipe === undefined ? [] : [describeNode(node.pipe)] })
    }
  }

  function walkPipe ({ commands }: Pipe): void {
    for (const [index, { operands }] of commands.entries()) {
      const piped = index === 0 ? [] : [commands.slice(0, index).map(describeNode).join(' | ')]
      for (const [at, operand] of operands.entries()) walkOperand(operand, at === 0 ? [...operands.slice(1).map(describeOperand), ...piped] : [])
    }
  }

  function walkOperand (operand: Operand, args: readonly string[]): void {
    if (operand.type === 'pipe') walkPipe(operand)
    else if (operand.type === 'chain') walkOperand(operand.base, [])
    else if (operand.type === 'identifier' && !isFunction(operand.name)) found.push({ node: operand, args })
  }

  for (const list of tree.bodies.values()) walkList(list)
  found.sort((left, right) => left.node.offset - right.node.offset)
  return {
    references: found.map(({ node, args }) => ({
      kind: node.type === 'template' ? 'partial' : 'function',
      name: node.name,
      arguments: args,
      calls: node.type === 'template' ? calls.get(node) : undefined,
      ...tree.source.position(node.offset)
    })),
    links: new Map(found.map(({ node }, index) => [node, index]))
  }
}

export const goLanguage: Language = createGoLanguage(FUNCTIONS)
