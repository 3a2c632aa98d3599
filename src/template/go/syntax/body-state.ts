import { TemplateSyntaxError } from '../../language.ts'
import { type Lexer } from './lexer.ts'
import { type ListNode } from './node.ts'
import { type Source } from './source.ts'
import { TokenReader } from './token-reader.ts'
import { describeToken, type Token, type TokenKind } from './token.ts'
import { unquote } from './unquote.ts'

/** What a parser must know of the engine that it works for. */
export interface ParserOptions {
  /** What the template is called in messages and by `{{template}}`; `undefined` for one that cannot be called. */
  readonly name: string | undefined
  /** Whether a name is a function's; a name that is none is a mistake. */
  isFunction (name: string): boolean
  /** How deep parentheses may nest. */
  readonly maxParentheses: number
  /** How deep blocks may nest. */
  readonly maxBlocks: number
  /** How many `{{else if}}` and `{{else with}}` may follow each other, over all blocks that nest. */
  readonly maxElseChain: number
  /** Whether messages begin with `template: NAME:LINE: `, as Go's do. */
  readonly goMessages: boolean
}

/** What the parsers of one source share. */
export interface Session {
  readonly source: Source
  readonly options: ParserOptions
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
    const { goMessages, name = '' } = this.session.options
    if (action !== undefined && !goMessages && this.#isOutside(token)) return this.fail('unclosed action', action)
    if (token.kind !== 'error') return this.fail(`unexpected ${describeToken(token)} in ${context}`, token)
    if (action === undefined || action.line === token.line || !goMessages) return this.fail(token.value, token)
    return this.fail(`${token.value}${token.value.endsWith(' action') ? '' : ' in action'} started at ${name}:${action.line}`, token)
  }

  /** Whether a token shows that the action before it was not closed: the end of the source, or another action. */
  #isOutside ({ kind, value, offset }: Token): boolean {
    return kind === 'error' ? value === 'unclosed action' : kind === 'character' && this.session.source.text.startsWith('{{', offset)
  }

  /** @throws TemplateSyntaxError about a block that the source ends in. Go does not say which it is. */
  unclosed (opening: Token): never {
    if (this.session.options.goMessages) return this.fail('unexpected EOF')
    return this.fail(`unexpected EOF: {{${opening.value}}} has no {{end}}`, opening)
  }

  /** Go's messages name the line that was read last; the position is that of the token to blame, where there is one. */
  fail (problem: string, blamed?: Token): never {
    const { source, options } = this.session
    const { line } = this.tokens.latest
    const { offset } = blamed ?? this.tokens.latest
    throw new TemplateSyntaxError(options.goMessages ? `template: ${options.name ?? ''}:${line}: ${problem}` : problem, source.position(offset))
  }
}
