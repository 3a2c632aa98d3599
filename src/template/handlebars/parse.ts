import Handlebars from 'handlebars'
import { TemplateSyntaxError, type Position } from '../language.ts'
import { type Place, type Program } from './ast.ts'

/** What the package throws: a place only where it is not the token that the parser stopped at. */
interface ParserError { readonly message: string, readonly lineNumber?: number, readonly column?: number }

/** Where the parser's lexer stands, which is how a parse error's place is known; the message has it as a drawing only. */
const { lexer } = (Handlebars as unknown as { Parser: { lexer: { yylloc: { first_line: number, first_column: number } } } }).Parser

/**
 * Parses a template, white space control applied. The caller has run `prescan` on it: the parser is slow and recursive.
 * @throws TemplateSyntaxError
 */
export function parse (text: string): Program {
  try {
    return Handlebars.parse(text) as unknown as Program
  } catch (error) {
    throw toSyntaxError(error as ParserError)
  }
}

/** A place of the tree as positions count: both from 1. */
export function positionOf (place: Place): Position {
  return { line: place.line, column: place.column + 1 }
}

/** `Parse error on line 3:\n…\n---^\nExpecting 'A', 'B', got 'C'`, `Lexical error on line 1. …`, or `a doesn't match b - 1:3`. */
function toSyntaxError (error: ParserError): TemplateSyntaxError {
  const line = error.lineNumber ?? lexer.yylloc.first_line
  const column = error.column ?? (error.lineNumber === undefined ? lexer.yylloc.first_column : 0)
  const [, opened, closed] = /^(.*) doesn't match (.*?)(?: - \d+:\d+)?$/.exec(error.message) ?? []
  if (opened !== undefined) return new TemplateSyntaxError(`"${opened}" is closed by "${closed}"`, positionOf({ line, column }))
  const got = /got '([^']*)'\s*$/.exec(error.message)?.[1]
  const reason = got === undefined
    ? error.message.replace(/ - \d+:\d+$/, '').split('\n', 1)[0] as string
    : got === 'EOF' ? 'the template ends in the middle of a tag or block' : `${TOKENS.get(got) ?? got} is not expected here`
  return new TemplateSyntaxError(reason, positionOf({ line, column }))
}

/** What the parser's tokens look like in a template. */
const TOKENS: ReadonlyMap<string, string> = new Map([
  ['INVALID', 'this character'],
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
  ['OPEN_BLOCK_PARAMS', '"as |"'],
  ['CLOSE_BLOCK_PARAMS', '"|"']
])
