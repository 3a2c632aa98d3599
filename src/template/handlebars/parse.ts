import { createRequire } from 'node:module'
import { TemplateSyntaxError, type Position } from '../language.ts'
import { type Place, type Program } from './ast.ts'

/** What the package throws: a place only where it is not the token that the parser stopped at. */
interface ParserError { readonly message: string, readonly lineNumber?: number, readonly column?: number }

/** As much of the package's parser as is used here. */
interface Parser {
  parse (text: string): Program
  /** Where it stands is how a parse error's place is known; the message has it as a drawing only. */
  readonly parser: { readonly lexer: { readonly yylloc: { readonly first_line: number, readonly first_column: number } } }
}

// The parser alone, which the package has no types for. Its compiler, which makes code, would be 36 modules more at every start.
const { parse: parseTemplate, parser: { lexer } } = createRequire(import.meta.url)('handlebars/dist/cjs/handlebars/compiler/base.js') as Parser

/**
 * Parses a template, white space control applied. The caller has run `prescan` on it: the parser is slow and recursive.
 * @throws TemplateSyntaxError
 */
export function parse (text: string): Program {
  try {
    return parseTemplate(text)
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
