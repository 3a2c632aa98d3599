import { createRequire } from 'node:module'
import { type Position } from '../../position.ts'
import { TemplateSyntaxError } from '../../language.ts'
import { type Place, type Program } from './ast.ts'
import { findUnclosedBlock, findUnclosedTag, findUnclosedText } from './unclosed.ts'

/** An error of the parser of the package handlebars. It has a place only when the mistake is not at the token where the parser stopped. */
interface ParserError { readonly message: string, readonly lineNumber?: number, readonly column?: number }

/** The members of the handlebars package's parser that are used here. */
interface Parser {
  parse (text: string): Program
  /** The lexer, whose position is the place of a parse error. The error's message shows the column only by a drawing (`---^`). */
  readonly parser: { readonly lexer: { readonly yylloc: { readonly first_line: number, readonly first_column: number } } }
}

// Only the parser is imported, for which the package has no types. The package's compiler, which generates code, would add 36 modules to every start.
const { parse: parseTemplate, parser: { lexer } } = createRequire(import.meta.url)('handlebars/dist/cjs/handlebars/compiler/base.js') as Parser

/**
 * Parses a template, and applies its white space control. The caller must have run `prescan` on it, because the parser is slow and recursive.
 * @throws TemplateSyntaxError
 */
export function parse (text: string): Program {
  try {
    return parseTemplate(text)
  } catch (error) {
    throw toSyntaxError(error as ParserError, text)
  }
}

/** Converts a place of the syntax tree into a position, in which columns count from 1, too. */
export function positionOf (place: Place): Position {
  return { line: place.line, column: place.column + 1 }
}

/**
 * Turns an error of the parser into a syntax error. Its message is `Parse error on line 3:\n…\n---^\nExpecting 'A', 'B', got 'C'`, `Lexical error on
 * line 1. …`, or `a doesn't match b - 1:3`.
 */
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

function placeOf ({ lineNumber, column }: ParserError): Place {
  const { first_line: line, first_column: standing } = lexer.yylloc
  return { line: lineNumber ?? line, column: column ?? (lineNumber === undefined ? standing : 0) }
}

function isBefore (one: Position, other: Position): boolean {
  return one.line < other.line || (one.line === other.line && one.column <= other.column)
}

/** The tokens of the parser, in the words of error messages. */
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
