import { TemplateSyntaxError } from '../../language.ts'
import { type Lexer } from './lexer.ts'
import { type ListNode } from './node.ts'
import { type Source } from './source.ts'
import { TokenReader } from './token-reader.ts'
import { describeToken, type Token, type TokenKind } from './token.ts'
import { unquote } from './unquote.ts'

/** What the parsers of one source share. */
export interface Session {
  readonly source: Source
  readonly lexer: Lexer
  readonly bodies: Map<string | undefined, ListNode>
  blocks: number
  elseChain: number
}

/** What the parsers of one body share: its tokens, its variables, and how it complains. */
export class BodyState {
  readonly session: Session
  readonly tokens: TokenReader
  readonly variables: string[] = ['$']
  /** The delimiter that began the action being read, for messages about what is not closed; `undefined` outside. */
  action: Token | undefined

  constructor (session: Session) {
    this.session = session
    this.tokens = new TokenReader(session.lexer)
  }

  /** The value of a string literal. */
  unquoted (literal: string): string {
    return unquote(literal) ?? this.fail('invalid syntax')
  }

  /** Reads a token that must be of one kind. */
  expect (kind: TokenKind, context: string): void {
    const token = this.tokens.nextNonSpace()
    if (token.kind !== kind) this.unexpected(token, context)
  }

  /** @throws TemplateSyntaxError about a token that cannot be here. */
  unexpected (token: Token, context: string): never {
    const { action } = this
    if (action !== undefined && this.#isOutside(token)) return this.fail('unclosed action', action)
    return this.fail(token.kind === 'error' ? token.value : `unexpected ${describeToken(token)} in ${context}`, token)
  }

  /** Whether a token shows that the action before it was not closed: the end of the source, or another action. */
  #isOutside ({ kind, value, offset }: Token): boolean {
    return kind === 'error' ? value === 'unclosed action' : kind === 'character' && this.session.source.text.startsWith('{{', offset)
  }

  /** @throws TemplateSyntaxError about a block that the source ends in. Go does not say which it is. */
  unclosed (opening: Token): never {
    return this.fail(`unexpected EOF: {{${opening.value}}} has no {{end}}`, opening)
  }

  /** @throws TemplateSyntaxError at the token to blame. @param blamed @default the token that was read last */
  fail (problem: string, blamed: Token = this.tokens.latest): never {
    throw new TemplateSyntaxError(problem, this.session.source.position(blamed.offset))
  }
}
