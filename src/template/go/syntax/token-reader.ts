import { type Lexer } from './lexer.ts'
import { type Token } from './token.ts'

/** A stream of tokens, of which up to three can be put back. Several readers can take turns on one lexer. */
export class TokenReader {
  readonly #lexer: Lexer
  /** The tokens that were put back. The last one is the next to be read. */
  readonly #waiting: Token[] = []
  /** The token that the lexer gave last, whether or not it was put back. */
  latest: Token = { kind: 'eof', value: '', offset: 0 }

  constructor (lexer: Lexer) {
    this.#lexer = lexer
  }

  next (): Token {
    const waiting = this.#waiting.pop()
    if (waiting !== undefined) return waiting
    this.latest = this.#lexer.next()
    return this.latest
  }

  /** Puts tokens back. The first argument is the first to be read again. */
  putBack (...tokens: Token[]): void {
    this.#waiting.push(...tokens.reverse())
  }

  peek (): Token {
    const token = this.next()
    this.#waiting.push(token)
    return token
  }

  nextNonSpace (): Token {
    for (;;) {
      const token = this.next()
      if (token.kind !== 'space') return token
    }
  }

  peekNonSpace (): Token {
    const token = this.nextNonSpace()
    this.#waiting.push(token)
    return token
  }
}
