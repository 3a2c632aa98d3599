import { type Node, type Tree } from '../syntax/node.ts'
import { type GoFunction } from '../value/go-value.ts'
import { type TemplateFunction } from '../../functions/function.ts'
import { type GoRules } from '../rules.ts'
import { type Body, never } from './code.ts'
import { compileList } from './list.ts'
import { Scope } from './scope.ts'
import { type Unit } from './unit.ts'

/** What a tree is compiled with. */
export interface CompileOptions {
  readonly rules: GoRules
  readonly functions: ReadonlyMap<string, TemplateFunction>
  readonly declared: ReadonlyMap<string, GoFunction>
  readonly links: ReadonlyMap<Node, number>
  readonly explain: boolean
}

/** Turns a tree into closures, once; gives the template's own body. */
export function compileTree (tree: Tree, options: CompileOptions): Body {
  const bodies = new Map([...tree.bodies.keys()].map((name): [string, Body] => [name, { name, write: () => '', slots: 0 }]))
  const unit: Unit = { ...options, tree, bodies, hasGoValues: options.rules.missingKey !== 'absent', forms: 0 }
  for (const [name, list] of tree.bodies) {
    const isMain = name === tree.name
    const scope = new Scope({ path: isMain ? '' : undefined, isBoxed: never, isInitial: true })
    const block = compileList({ unit, bodyName: name, isMain, scope }, list)
    const body = bodies.get(name) as Body
    body.write = block.write
    body.slots = scope.slots
  }
  return bodies.get(tree.name) as Body
}
