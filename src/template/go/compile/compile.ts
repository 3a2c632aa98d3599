import { type FailingPart } from '../../language.ts'
import { MAIN_BODY, type Node, type Tree } from '../syntax/node.ts'
import { type TemplateFunction } from '../../functions/function.ts'
import { type Body } from './code.ts'
import { compileOperand } from './expression.ts'
import { compileList, EMPTY_LIST } from './list.ts'
import { Scope } from './scope.ts'
import { type Tracing } from './tracing.ts'
import { type Unit } from './unit.ts'

/**
 * What the compiler gets besides the syntax tree: the template functions, for each node that names a tool or partial the index of that in `Frame.links`
 * (`links`), and the code that makes closures report what an explained render reads and writes (`tracing`).
 */
export interface CompileOptions {
  readonly functions: ReadonlyMap<string, TemplateFunction>
  readonly links: ReadonlyMap<Node, number>
  readonly tracing: Tracing
}

/** A compiled syntax tree. */
export interface CompiledTree {
  /** The template's own body, without the templates that it defines. */
  readonly body: Body
  /** The parts of the template that fail whenever they run, in source order. */
  readonly failing: readonly FailingPart[]
}

/** Compiles a syntax tree into closures, once. */
export function compileTree (tree: Tree, options: CompileOptions): CompiledTree {
  const bodies = new Map([...tree.bodies.keys()].map((name): [string | undefined, Body] => [name, { list: EMPTY_LIST, slots: 0 }]))
  const unit: Unit = { ...options, compilers: { operand: compileOperand, list: compileList }, tree, bodies, failing: [], forms: 0 }
  for (const [name, node] of tree.bodies) {
    const isMain = name === MAIN_BODY
    const scope = new Scope({ path: isMain ? '' : undefined, isBoxed: false, isInitial: true })
    const list = compileList({ unit, isMain, scope }, node)
    const body = bodies.get(name) as Body
    body.list = list
    body.slots = scope.slots
  }
  const failing = unit.failing.sort((left, right) => left.line - right.line || left.column - right.column)
  return { body: bodies.get(MAIN_BODY) as Body, failing }
}
