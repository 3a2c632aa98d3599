import { TemplateSyntaxError } from '../../language.ts'
import { type Lexer } from './lexer.ts'
import { type ListNode } from './node.ts'
import { type Source } from './source.ts'
import { TokenReader } from './token-reader.ts'
import { describeToken, type Token, type TokenKind } from './token.ts'
import { unquote } from './unquote.ts'

/** The state that the parsers of all bodies in one source share. A body is the template itself, or one that `define` or `block` begins. */
export interface Session {
  readonly source: Source
  readonly lexer: Lexer
  readonly bodies: Map<string | undefined, ListNode>
  blocks: number
  elseChain: number
}

/** The state that the parsers of one body share: its tokens, its variables, and its error messages. */
export class BodyState {
  readonly session: Session
  readonly tokens: TokenReader
  readonly variables: string[] = ['$']
  /** The delimiter that began the action which is being read, for messages about an action that is not closed; `undefined` outside of actions. */
  action: Token | undefined

  constructor (session: Session) {
    this.session = session
    this.tokens = new TokenReader(session.lexer)
  }

  /** The value of a string literal. @throws TemplateSyntaxError for an invalid one */
  unquoted (literal: string): string {
    return unquote(literal) ?? this.fail('invalid syntax')
  }

  /**
   * Reads the next token that is no space.
   * @param context the surroundings, in the words of the message
   * @throws TemplateSyntaxError unless the token is of this kind
   */
  expect (kind: TokenKind, context: string): void {
    const token = this.tokens.nextNonSpace()
    if (token.kind !== kind) this.unexpected(token, context)
  }

  /** Refuses a token that cannot be at its place. @throws TemplateSyntaxError */
  unexpected (token: Token, context: string): never {
    const { action } = this
    if (action !== undefined && this.#isOutside(token)) return this.fail('unclosed action', action)
    return this.fail(token.kind === 'error' ? token.value : `unexpected ${describeToken(token)} in ${context}`, token)
  }

  /** Whether a token shows that the action before it was not closed: the end of the source, or the beginning of another action. */
  #isOutside ({ kind, value, offset }: Token): boolean {
    return kind === 'error' ? value === 'unclosed action' : kind === 'character' && this.session.source.text.startsWith('{{', offset)
  }

  /** Refuses a block that is not closed at the end of the source. Unlike here, Go does not say which block it is. @throws TemplateSyntaxError */
  unclosed (opening: Token): never {
    return this.fail(`unexpected EOF: {{${opening.value}}} has no {{end}}`, opening)
  }

  /** Throws a syntax error at the place of a token. @param blamed the token @default the token that was read last @throws TemplateSyntaxError */
  fail (problem: string, blamed: Token = this.tokens.latest): never {
    throw new TemplateSyntaxError(problem, this.session.source.position(blamed.offset))
  }
}
