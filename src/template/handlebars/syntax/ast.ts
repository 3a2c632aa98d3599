/**
 * The syntax tree that the parser of the package handlebars gives. The package's own types allow any statement and expression. These types list them,
 * so that TypeScript checks whether the compiler handles all of them.
 */
export interface Program {
  readonly body: readonly Statement[]
  readonly blockParams?: readonly string[]
}

/** A place in the source. Lines count from 1, columns from 0. */
export interface Place { readonly line: number, readonly column: number }

interface Node {
  readonly loc: { readonly start: Place, readonly end: Place }
}

export type Statement = Content | Comment | Mustache | Block | Partial | PartialBlock | Decorator | DecoratorBlock

export interface Content extends Node { readonly type: 'ContentStatement', readonly value: string }
export interface Comment extends Node { readonly type: 'CommentStatement' }

/** The common members of `{{name a b=c}}`, `(name a b=c)` and `{{#name a b=c}}`. */
export interface Call extends Node {
  readonly path: Expression
  readonly params: readonly Expression[]
  readonly hash?: Hash
}

export interface Mustache extends Call { readonly type: 'MustacheStatement' }
export interface SubExpression extends Call { readonly type: 'SubExpression' }
export interface Decorator extends Call { readonly type: 'Decorator' }

/** A block: `{{#x}}`, `{{^x}}` or a raw block. An inverse block has no `program`. */
export interface Block extends Call {
  readonly type: 'BlockStatement'
  readonly program?: Program
  readonly inverse?: Program
  /** The white space control of the opening tag; for a raw block it has no members. */
  readonly openStrip: { readonly open?: boolean }
}

export interface DecoratorBlock extends Call { readonly type: 'DecoratorBlock', readonly program: Program }

interface PartialCall extends Node {
  readonly name: Expression
  readonly params: readonly Expression[]
  readonly hash?: Hash
}

export interface Partial extends PartialCall { readonly type: 'PartialStatement', readonly indent: string }
export interface PartialBlock extends PartialCall { readonly type: 'PartialBlockStatement', readonly program: Program }

export type Expression = SubExpression | Path | Literal

export interface Path extends Node {
  readonly type: 'PathExpression'
  /** Whether the path begins with `@`. */
  readonly data: boolean
  /** The number of `../` with which the path begins. */
  readonly depth: number
  readonly parts: readonly string[]
  readonly original: string
}

export type Literal =
  | (Node & { readonly type: 'StringLiteral', readonly value: string, readonly original: string })
  | (Node & { readonly type: 'NumberLiteral', readonly value: number, readonly original: number })
  | (Node & { readonly type: 'BooleanLiteral', readonly value: boolean, readonly original: boolean })
  | (Node & { readonly type: 'UndefinedLiteral' })
  | (Node & { readonly type: 'NullLiteral' })

export interface Hash extends Node {
  readonly pairs: readonly (Node & { readonly key: string, readonly value: Expression })[]
}
