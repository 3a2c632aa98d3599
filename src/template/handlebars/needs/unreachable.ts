import { type UnreachablePart } from '../../language.ts'
import { type Block, type Expression, type Program, type Statement } from '../syntax/ast.ts'
import { positionOf } from '../syntax/parse.ts'
import { simpleName } from '../compile/paths.ts'

/** Finds the branches that a constant condition never takes, in source order. */
export function findUnreachable (program: Program | undefined): UnreachablePart[] {
  return (program?.body ?? []).flatMap(inStatement)
}

function inStatement (statement: Statement): UnreachablePart[] {
  switch (statement.type) {
    case 'BlockStatement': return inBlock(statement)
    case 'PartialBlockStatement':
    case 'DecoratorBlock': return findUnreachable(statement.program)
    default: return []
  }
}

function inBlock (block: Block): UnreachablePart[] {
  const { program, inverse } = block
  const truth = truthOfBlock(block)
  return [
    ...truth === false ? beginning(program, truth) : findUnreachable(program),
    ...truth === true ? beginning(inverse, truth) : findUnreachable(inverse)
  ]
}

/** The place at which a body begins, after white space and comments. */
function beginning (program: Program | undefined, truth: boolean): UnreachablePart[] {
  const first = program?.body.find(
    statement => statement.type !== 'CommentStatement' && !(statement.type === 'ContentStatement' && statement.value.trim() === '')
  )
  return first === undefined ? [] : [{ reason: `the condition is always ${String(truth)}`, ...positionOf(first.loc.start) }]
}

/** Whether a block always runs its body (`true`) or never does (`false`); `undefined` when that depends on a value. */
function truthOfBlock ({ path, params, hash }: Block): boolean | undefined {
  const [param] = params
  if (path.type !== 'PathExpression' || param === undefined || hash !== undefined) return undefined
  const truth = truthOf(param)
  switch (simpleName(path)) {
    case 'if': return truth
    case 'unless': return truth === undefined ? undefined : !truth
    // Unlike for "if", 0 is not empty.
    case 'with': return param.type === 'NumberLiteral' ? true : truth
    case 'each': return 'value' in param ? false : undefined
    default: return undefined
  }
}

function truthOf (expression: Expression): boolean | undefined {
  switch (expression.type) {
    case 'BooleanLiteral':
    case 'NumberLiteral':
    case 'StringLiteral': return Boolean(expression.value)
    case 'NullLiteral':
    case 'UndefinedLiteral': return false
    case 'SubExpression': return truthOfCall(expression.path, expression.params.map(truthOf))
    default: return undefined
  }
}

function truthOfCall (path: Expression, truths: readonly (boolean | undefined)[]): boolean | undefined {
  switch (path.type === 'PathExpression' ? simpleName(path) : undefined) {
    case 'not': return truths[0] === undefined ? undefined : !truths[0]
    case 'and': return truths.includes(false) ? false : truths.includes(undefined) ? undefined : true
    case 'or': return truths.includes(true) ? true : truths.includes(undefined) ? undefined : false
    default: return undefined
  }
}
