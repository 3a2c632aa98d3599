import { type ListNode } from '../syntax/node.ts'
import { type Block, type Evaluate, Kind, type List } from './code.ts'
import { type Context } from './unit.ts'

const nothing: Evaluate = () => null

/** The compiled statement that writes nothing. */
export const NO_STATEMENT: Block = {
  evaluate: nothing,
  path: undefined,
  kind: Kind.Other,
  write: (_machine, _dot, _value, before) => before,
  assigns: [],
  jumps: 0,
  size: 0
}

/** Compiles the statements after the `{{else}}` of a block; `undefined` for a block without one. */
export function compileElse (context: Context, list: ListNode | undefined): List | undefined {
  return list === undefined ? undefined : context.scope.block(() => context.unit.compilers.list(context, list))
}
