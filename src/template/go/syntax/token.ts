import { byteLength } from '../value/bytes.ts'
import { quoteText } from '../fmt/quote.ts'

/** The kinds of tokens. Each keyword, and the dot, is a kind of its own. */
export type TokenKind =
  | 'error' | 'eof' | 'text' | 'left-delimiter' | 'right-delimiter' | 'space'
  | 'bool' | 'character' | 'constant-character' | 'complex' | 'number' | 'string' | 'raw-string'
  | 'assign' | 'declare' | 'field' | 'identifier' | 'variable' | 'left-paren' | 'right-paren' | 'pipe'
  | Keyword

/** The words (and the dot) that cannot be names. */
export type Keyword =
  | '.' | 'block' | 'break' | 'continue' | 'define' | 'else' | 'end' | 'if' | 'nil' | 'range' | 'template' | 'with'

const KEYWORDS: ReadonlySet<string> = new Set<Keyword>(['.', 'block', 'break', 'continue', 'define', 'else', 'end', 'if', 'nil', 'range', 'template', 'with'])

/** A token: a piece of the source of a template. */
export interface Token {
  readonly kind: TokenKind
  /** The source text of the token; for an error its message. */
  readonly value: string
  /** The offset of the first character in the source, in UTF-16 units. */
  readonly offset: number
}

/** Whether a word is a keyword. */
export function isKeyword (word: string): word is Keyword {
  return KEYWORDS.has(word)
}

/** The form in which Go's messages show a token. */
export function describeToken ({ kind, value }: Token): string {
  if (kind === 'eof') return 'EOF'
  if (kind === 'error') return value
  if (isKeyword(kind)) return `<${value}>`
  if (byteLength(value) > 10) return `${quoteText(Array.from(value.slice(0, 20)).slice(0, 10).join(''))}...`
  return quoteText(value)
}
