import { createRequire } from 'node:module'
import { TemplateSyntaxError } from '../language.ts'
import { classifyHandlebars } from '../prescan.ts'
import { type Position, positionAt, scanTags } from '../tags.ts'

/** Has a place only when the mistake is not at the token where the parser stopped. */
interface ParserError { readonly message: string, readonly lineNumber?: number, readonly column?: number }

// `yylloc` is an error's place: the message shows the column only by a drawing (`---^`).
// Only the parser, which has no types: the package's compiler would add 36 modules to every start.
const { parse: parseTemplate, parser: { lexer } } = createRequire(import.meta.url)('handlebars/dist/cjs/handlebars/compiler/base.js') as {
  parse (text: string): Program
  readonly parser: { readonly lexer: { readonly yylloc: { readonly first_line: number, readonly first_column: number } } }
}

/** The caller must have run `prescan`, because the parser is slow and recursive. @throws TemplateSyntaxError */
export function parse (text: string): Program {
  try {
    return parseTemplate(text)
  } catch (error) {
    throw toSyntaxError(error as ParserError, text)
  }
}

export function positionOf (place: SourcePosition): Position {
  return { line: place.line, column: place.column + 1 }
}

/** `Parse error on line 3:\n…\n---^\nExpecting 'A', 'B', got 'C'`, `Lexical error on line 1. …`, or `a doesn't match b - 1:3`. */
function toSyntaxError (error: ParserError, text: string): TemplateSyntaxError {
  const at = positionOf(placeOf(error))
  const [, opened, closed] = /^(.*) doesn't match (.*?)(?: - \d+:\d+)?$/.exec(error.message) ?? []
  if (opened !== undefined) return new TemplateSyntaxError(`"${opened}" is closed by "${closed}"`, at)
  if (error.message.startsWith('Lexical error')) return findUnclosedText(text) ?? new TemplateSyntaxError('this text cannot be read', at)
  const got = /got '([^']*)'\s*$/.exec(error.message)?.[1]
  if (got === undefined) return new TemplateSyntaxError(error.message.replace(/ - \d+:\d+$/, ''), at)
  const tag = findUnclosedTag(text)
  if (tag !== undefined && isBefore(tag, at)) return tag
  if (got === 'EOF') return findUnclosedBlock(text) ?? new TemplateSyntaxError('the template ends in the middle of a tag or block', at)
  return new TemplateSyntaxError(`${TOKENS.get(got) ?? got} is not expected here`, at)
}

function placeOf ({ lineNumber, column }: ParserError): SourcePosition {
  const { first_line: line, first_column: standing } = lexer.yylloc
  return { line: lineNumber ?? line, column: column ?? (lineNumber === undefined ? standing : 0) }
}

function isBefore (one: Position, other: Position): boolean {
  return one.line < other.line || (one.line === other.line && one.column <= other.column)
}

const TOKENS: ReadonlyMap<string, string> = new Map([
  ['INVALID', 'this character'],
  ['CONTENT', 'text'],
  ['COMMENT', 'a comment'],
  ['OPEN', '"{{"'],
  ['OPEN_UNESCAPED', '"{{{"'],
  ['OPEN_BLOCK', '"{{#"'],
  ['OPEN_INVERSE', '"{{^"'],
  ['OPEN_PARTIAL', '"{{>"'],
  ['OPEN_PARTIAL_BLOCK', '"{{#>"'],
  ['OPEN_RAW_BLOCK', '"{{{{"'],
  ['END_RAW_BLOCK', 'the end of a raw block'],
  ['CLOSE', '"}}"'],
  ['CLOSE_UNESCAPED', '"}}}"'],
  ['CLOSE_SEXPR', '")"'],
  ['CLOSE_RAW_BLOCK', '"}}}}"'],
  ['OPEN_SEXPR', '"("'],
  ['OPEN_ENDBLOCK', 'a closing tag'],
  ['OPEN_INVERSE_CHAIN', '"else"'],
  ['INVERSE', '"else"'],
  ['EQUALS', '"="'],
  ['SEP', '"." or "/"'],
  ['DATA', '"@"'],
  ['ID', 'a name'],
  ['STRING', 'a text'],
  ['NUMBER', 'a number'],
  ['BOOLEAN', 'true or false'],
  ['NULL', 'null'],
  ['UNDEFINED', 'undefined'],
  ['OPEN_BLOCK_PARAMS', '"as |"'],
  ['CLOSE_BLOCK_PARAMS', '"|"']
])

/** The parser stops somewhere after the unclosed tag, and cannot say where it begins. */
function findUnclosedTag (text: string): TemplateSyntaxError | undefined {
  for (const { start, inner } of scanTags(text, 'handlebars')) {
    if (inner.startsWith('!') || inner.startsWith('{{')) continue
    const end = start + 2 + inner.length
    // The scan of a tag stops at a literal that is not closed.
    if (/["'[]/.test(text[end] ?? '')) return new TemplateSyntaxError(`${text[end] as string} is not closed`, positionAt(text, end))
    if (!inner.includes('{{') && text.startsWith('}}', end)) continue
    // The mistake is a single brace in a place that needs two.
    const brace = /^[^{}]*\}/.exec(inner)?.[0]
    if (brace !== undefined) return new TemplateSyntaxError('a tag ends with "}}", not with "}"', positionAt(text, start + 1 + brace.length))
    return new TemplateSyntaxError('the tag has no "}}"', positionAt(text, start))
  }
  return undefined
}

function findUnclosedBlock (text: string): TemplateSyntaxError | undefined {
  const open: Array<{ readonly start: number, readonly inner: string }> = []
  for (const tag of scanTags(text, 'handlebars')) {
    const step = classifyHandlebars(tag.inner)
    if (step === 'open') open.push(tag)
    if (step === 'close') open.pop()
  }
  const block = open.at(-1)
  if (block === undefined) return undefined
  const name = /^~?[#^][*>]?\s*([^\s(){}|~>]+)/.exec(block.inner)?.[1]
  return new TemplateSyntaxError(name === undefined ? 'the block is not closed' : `"${name}" has no {{/${name}}}`, positionAt(text, block.start))
}

function findUnclosedText (text: string): TemplateSyntaxError | undefined {
  const last = Array.from(scanTags(text, 'handlebars')).findLast(({ inner }) => inner.startsWith('!') || inner.startsWith('{{'))
  return last && new TemplateSyntaxError(`the ${last.inner.startsWith('!') ? 'comment' : 'raw block'} is not closed`, positionAt(text, last.start))
}

/** The package's own types allow any statement; these let TypeScript check that the compiler handles all. */
export interface Program {
  readonly body: readonly ProgramStatement[]
  readonly blockParams?: readonly string[]
}

/** Lines count from 1, columns from 0. */
export interface SourcePosition { readonly line: number, readonly column: number }

interface BaseNode {
  readonly loc: { readonly start: SourcePosition, readonly end: SourcePosition }
}

export type ProgramStatement = Content | Mustache | Block | Partial | PartialBlock | DecoratorBlock
  | BaseNode & { readonly type: 'CommentStatement' } | CallNode & { readonly type: 'Decorator' }

export interface Content extends BaseNode { readonly type: 'ContentStatement', readonly value: string }

export interface CallNode extends BaseNode {
  readonly path: Expression
  readonly params: readonly Expression[]
  readonly hash?: Hash
}

export interface Mustache extends CallNode { readonly type: 'MustacheStatement' }

/** An inverse block has no `program`. */
export interface Block extends CallNode {
  readonly type: 'BlockStatement'
  readonly program?: Program
  readonly inverse?: Program
  /** Empty for a raw block. */
  readonly openStrip: { readonly open?: boolean }
}

export interface DecoratorBlock extends CallNode { readonly type: 'DecoratorBlock', readonly program: Program }

interface PartialNode extends BaseNode {
  readonly name: Expression
  readonly params: readonly Expression[]
  readonly hash?: Hash
}

export interface Partial extends PartialNode { readonly type: 'PartialStatement', readonly indent: string }
export interface PartialBlock extends PartialNode { readonly type: 'PartialBlockStatement', readonly program: Program }

export type Expression = CallNode & { readonly type: 'SubExpression' } | PathNode | Literal

export interface PathNode extends BaseNode {
  readonly type: 'PathExpression'
  readonly data: boolean
  readonly depth: number
  readonly parts: readonly string[]
  readonly original: string
}

export type Literal =
  | (BaseNode & { readonly type: 'StringLiteral', readonly value: string, readonly original: string })
  | (BaseNode & { readonly type: 'NumberLiteral', readonly value: number, readonly original: number })
  | (BaseNode & { readonly type: 'BooleanLiteral', readonly value: boolean, readonly original: boolean })
  | (BaseNode & { readonly type: 'UndefinedLiteral' })
  | (BaseNode & { readonly type: 'NullLiteral' })

export interface Hash extends BaseNode {
  readonly pairs: readonly (BaseNode & { readonly key: string, readonly value: Expression })[]
}
