import { byteLength } from './bytes.ts'
import { isPrintable, quoteText } from './quote.ts'

export type TokenKind =
  | 'error' | 'eof' | 'text' | 'left-delimiter' | 'right-delimiter' | 'space'
  | 'bool' | 'character' | 'constant-character' | 'complex' | 'number' | 'string' | 'raw-string'
  | 'assign' | 'declare' | 'field' | 'identifier' | 'variable' | 'left-paren' | 'right-paren' | 'pipe'
  | Keyword

type Keyword =
  | '.' | 'block' | 'break' | 'continue' | 'define' | 'else' | 'end' | 'if' | 'nil' | 'range' | 'template' | 'with'

const KEYWORDS: ReadonlySet<string> = new Set<Keyword>(['.', 'block', 'break', 'continue', 'define', 'else', 'end', 'if', 'nil', 'range', 'template', 'with'])

export interface Token {
  readonly kind: TokenKind
  readonly value: string
  /** In UTF-16 units. */
  readonly offset: number
}

function isKeyword (word: string): word is Keyword {
  return KEYWORDS.has(word)
}

export function describeToken ({ kind, value }: Token): string {
  if (kind === 'eof') return 'EOF'
  if (kind === 'error') return value
  if (isKeyword(kind)) return `<${value}>`
  if (byteLength(value) > 10) return `${quoteText(Array.from(value.slice(0, 20)).slice(0, 10).join(''))}...`
  return quoteText(value)
}

const LEFT = '{{'
const RIGHT = '}}'
const WORD = /[_\p{L}\p{Nd}]+/uy
const SPACES = /[ \t\r\n]+/y

const isSpace = (character: string | undefined): boolean => character === ' ' || character === '\t' || character === '\r' || character === '\n'
const isDigit = (character: string | undefined): boolean => character !== undefined && character >= '0' && character <= '9'

/** Follows Go's text/template/parse. After an error or the end, it gives the end again and again. */
export class Lexer {
  readonly #source: string
  #offset = 0
  #isInside = false
  #parenDepth = 0
  #isOver = false

  constructor (source: string) {
    this.#source = source
  }

  next (): Token {
    if (this.#isOver) return this.#token('eof', this.#offset)
    return this.#isInside ? this.#inside() : this.#text()
  }

  #text (): Token {
    for (;;) {
      const start = this.#offset
      const action = this.#source.indexOf(LEFT, start)
      if (action < 0) return this.#rest()
      const trims = this.#hasLeftTrim(action + LEFT.length)
      const end = trims ? this.#withoutTrailingSpace(start, action) : action
      if (end > start) {
        const token = this.#token('text', end)
        this.#offset = action
        return token
      }
      this.#offset = action
      const inside = action + LEFT.length + (trims ? 2 : 0)
      if (!this.#source.startsWith('/*', inside)) return this.#leftDelimiter(inside)
      const problem = this.#comment(inside)
      if (problem !== undefined) return problem
    }
  }

  #rest (): Token {
    return this.#token(this.#offset < this.#source.length ? 'text' : 'eof', this.#source.length)
  }

  #leftDelimiter (inside: number): Token {
    const token = this.#token('left-delimiter', this.#offset + LEFT.length)
    this.#isInside = true
    this.#parenDepth = 0
    this.#offset = inside
    return token
  }

  #comment (start: number): Token | undefined {
    this.#offset = start
    const close = this.#source.indexOf('*/', start + 2)
    if (close < 0) return this.#error('unclosed comment')
    const after = close + 2
    const trims = this.#isTrimmedRight(after)
    if (!trims && !this.#source.startsWith(RIGHT, after)) return this.#error('comment ends before closing delimiter')
    this.#offset = after + (trims ? 2 : 0) + RIGHT.length
    if (trims) this.#offset = this.#afterSpaces(this.#offset)
    return undefined
  }

  #inside (): Token {
    const start = this.#offset
    const trims = this.#isTrimmedRight(start)
    if (trims || this.#source.startsWith(RIGHT, start)) {
      return this.#parenDepth === 0 ? this.#rightDelimiter(trims) : this.#error('unclosed left paren')
    }
    const character = this.#source[start]
    if (character === undefined) return this.#error('unclosed action')
    if (isSpace(character)) return this.#space()
    switch (character) {
      case '=': return this.#token('assign', start + 1)
      case ':': return this.#source[start + 1] === '=' ? this.#token('declare', start + 2) : this.#error('expected :=')
      case '|': return this.#token('pipe', start + 1)
      case '"': return this.#quoted('"', 'string', 'unterminated quoted string')
      case "'": return this.#quoted("'", 'constant-character', 'unterminated character constant')
      case '`': return this.#rawString()
      case '(':
      case ')': return this.#paren(character)
      case '$': return this.#name(start, 'variable')
      default: return this.#other(character)
    }
  }

  #other (character: string): Token {
    const start = this.#offset
    if (character === '.' && start + 1 < this.#source.length && !isDigit(this.#source[start + 1])) return this.#name(start, 'field')
    if (character === '.' || character === '+' || character === '-' || isDigit(character)) return this.#number()
    const end = this.#afterWord(start)
    if (end > start) return this.#identifier(end)
    if (character >= ' ' && character <= '~') return this.#token('character', start + 1)
    return this.#error(`unrecognized character in action: ${this.#describeCharacter(start)}`)
  }

  #rightDelimiter (trims: boolean): Token {
    if (trims) this.#offset += 2
    const token = this.#token('right-delimiter', this.#offset + RIGHT.length)
    this.#isInside = false
    if (trims) this.#offset = this.#afterSpaces(this.#offset)
    return token
  }

  /** Without the space that belongs to a closing trim marker. */
  #space (): Token {
    const end = this.#afterSpaces(this.#offset)
    return this.#token('space', this.#isTrimmedRight(end - 1) ? end - 1 : end)
  }

  #paren (character: '(' | ')'): Token {
    this.#parenDepth += character === '(' ? 1 : -1
    if (this.#parenDepth < 0) return this.#error('unexpected right paren')
    return this.#token(character === '(' ? 'left-paren' : 'right-paren', this.#offset + 1)
  }

  #quoted (quote: string, kind: TokenKind, problem: string): Token {
    let end = this.#offset + 1
    for (;; end++) {
      let character = this.#source[end]
      if (character === quote) return this.#token(kind, end + 1)
      if (character === '\\') character = this.#source[++end]
      if (character === undefined || character === '\n') return this.#error(problem)
    }
  }

  #rawString (): Token {
    const end = this.#source.indexOf('`', this.#offset + 1)
    return end < 0 ? this.#error('unterminated raw quoted string') : this.#token('raw-string', end + 1)
  }

  #identifier (end: number): Token {
    if (!this.#isTerminator(end)) return this.#error(`bad character ${this.#describeCharacter(end)}`, end)
    const word = this.#source.slice(this.#offset, end)
    if (isKeyword(word)) return this.#token(word, end)
    return this.#token(word === 'true' || word === 'false' ? 'bool' : 'identifier', end)
  }

  #name (start: number, kind: 'field' | 'variable'): Token {
    if (this.#isTerminator(start + 1)) return this.#token(kind === 'field' ? '.' : 'variable', start + 1)
    const end = this.#afterWord(start + 1)
    return this.#isTerminator(end) ? this.#token(kind, end) : this.#error(`bad character ${this.#describeCharacter(end)}`, end)
  }

  #number (): Token {
    const start = this.#offset
    let end = this.#afterNumber(start)
    if (end < 0) return this.#badNumber(~end)
    const sign = this.#source[end]
    if (sign !== '+' && sign !== '-') return this.#token('number', end)
    end = this.#afterNumber(end)
    if (end < 0) return this.#badNumber(~end)
    return this.#source[end - 1] === 'i' ? this.#token('complex', end) : this.#badNumber(end)
  }

  #badNumber (end: number): Token {
    return this.#error(`bad number syntax: ${quoteText(this.#source.slice(this.#offset, end))}`)
  }

  /** Negative (the bitwise complement) when a letter or digit follows. The parser checks the number itself. */
  #afterNumber (start: number): number {
    let at = start
    const accept = (characters: string): boolean => {
      const character = this.#source[at]
      if (character === undefined || !characters.includes(character)) return false
      at++
      return true
    }
    const acceptRun = (characters: string): void => {
      while (accept(characters));
    }
    accept('+-')
    let digits = '0123456789_'
    if (accept('0')) {
      if (accept('xX')) digits = '0123456789abcdefABCDEF_'
      else if (accept('oO')) digits = '01234567_'
      else if (accept('bB')) digits = '01_'
    }
    acceptRun(digits)
    if (accept('.')) acceptRun(digits)
    if ((digits.length === 11 && accept('eE')) || (digits.length === 23 && accept('pP'))) {
      accept('+-')
      acceptRun('0123456789_')
    }
    accept('i')
    if (this.#afterWord(at) === at) return at
    return ~(at + String.fromCodePoint(this.#source.codePointAt(at) as number).length)
  }

  #isTerminator (offset: number): boolean {
    const character = this.#source[offset]
    return character === undefined || isSpace(character) || '.,|:)('.includes(character) || this.#source.startsWith(RIGHT, offset)
  }

  #hasLeftTrim (offset: number): boolean {
    return this.#source[offset] === '-' && isSpace(this.#source[offset + 1])
  }

  #isTrimmedRight (offset: number): boolean {
    return isSpace(this.#source[offset]) && this.#source[offset + 1] === '-' && this.#source.startsWith(RIGHT, offset + 2)
  }

  #afterSpaces (offset: number): number {
    SPACES.lastIndex = offset
    return SPACES.test(this.#source) ? SPACES.lastIndex : offset
  }

  #afterWord (offset: number): number {
    WORD.lastIndex = offset
    return WORD.test(this.#source) ? WORD.lastIndex : offset
  }

  #withoutTrailingSpace (start: number, end: number): number {
    while (end > start && isSpace(this.#source[end - 1])) end--
    return end
  }

  /** As Go's %#U. */
  #describeCharacter (offset: number): string {
    const code = this.#source.codePointAt(offset)
    if (code === undefined) return 'U+FFFFFFFFFFFFFFFF'
    const name = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
    const character = String.fromCodePoint(code)
    return isPrintable(character) ? `${name} '${character}'` : name
  }

  #token (kind: TokenKind, end: number): Token {
    const token = { kind, value: this.#source.slice(this.#offset, end), offset: this.#offset }
    this.#offset = end
    return token
  }

  #error (problem: string, offset = this.#offset): Token {
    this.#isOver = true
    return { kind: 'error', value: problem, offset }
  }
}
