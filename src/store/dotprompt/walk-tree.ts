import { type Call, type Expression, type Hash, type Program, type Statement } from '../../template/handlebars/syntax/ast.ts'

/** Receives the nodes of a template's syntax tree, the outer ones before the inner ones. */
export interface TreeVisitor {
  /** Called with a call or a value: `{{name …}}`, `{{#name …}}`, `(name …)`. @param depth how many blocks lie around it */
  onCall (call: Call & { readonly type: string }, depth: number): void
  /** Called with an expression. @param isAtRoot whether names in it are names of variables, because no block around it has changed the context */
  onExpression (expression: Expression, isAtRoot: boolean): void
}

/** The position of a walk in the template's syntax tree. */
interface Place {
  readonly depth: number
  readonly isAtRoot: boolean
}

/** The blocks inside which a name means the same as outside. Other blocks, such as `each`, change what names refer to. */
const SAME_CONTEXT: ReadonlySet<string> = new Set(['if', 'unless', 'ifEquals', 'unlessEquals'])

/**
 * Walks through the syntax tree of a template, in the order of the text. It recurses, which is safe because the nesting of a template is checked before it is
 * parsed.
 */
export function walkTree (program: Program | undefined, visitor: TreeVisitor, place: Place = { depth: 0, isAtRoot: true }): void {
  for (const statement of program?.body ?? []) walkStatement(statement, visitor, place)
}

function walkStatement (statement: Statement, visitor: TreeVisitor, place: Place): void {
  switch (statement.type) {
    case 'ContentStatement':
    case 'CommentStatement': return
    case 'PartialStatement':
    case 'PartialBlockStatement':
      walkArguments(statement, visitor, place)
      if (statement.type === 'PartialBlockStatement') walkTree(statement.program, visitor, { depth: place.depth + 1, isAtRoot: false })
      return
    case 'BlockStatement':
      walkCall(statement, visitor, place)
      walkTree(statement.program, visitor, insideBlock(statement, place))
      return walkTree(statement.inverse, visitor, { ...place, depth: place.depth + 1 })
    case 'DecoratorBlock': return walkTree(statement.program, visitor, { depth: place.depth + 1, isAtRoot: false })
    default: walkCall(statement, visitor, place)
  }
}

function walkCall (call: Call & { readonly type: string }, visitor: TreeVisitor, place: Place): void {
  visitor.onCall(call, place.depth)
  walkExpression(call.path, visitor, place)
  walkArguments(call, visitor, place)
}

function walkArguments ({ params, hash }: { readonly params: readonly Expression[], readonly hash?: Hash }, visitor: TreeVisitor, place: Place): void {
  for (const param of params) walkExpression(param, visitor, place)
  for (const { value } of hash?.pairs ?? []) walkExpression(value, visitor, place)
}

function walkExpression (expression: Expression, visitor: TreeVisitor, place: Place): void {
  if (expression.type === 'SubExpression') walkCall(expression, visitor, { ...place, depth: place.depth + 1 })
  else visitor.onExpression(expression, place.isAtRoot)
}

function insideBlock ({ path }: Call, { depth, isAtRoot }: Place): Place {
  return { depth: depth + 1, isAtRoot: isAtRoot && path.type === 'PathExpression' && SAME_CONTEXT.has(path.original) }
}
