import { TemplateSyntaxError } from '../language.ts'
import { quoteText, unquote } from './quote.ts'
import { describeToken, Lexer, type Token, type TokenKind } from './lexer.ts'
import {
  type BranchNode, type ChainNode, type Command, type ListNode, MAIN_BODY, type NumberNode, type Operand, type Pipe, SourceText, startOf, type Statement,
  type StringNode, type TemplateNode, type Tree, type VariableNode
} from './node.ts'
import { NumberError, type NumberLiteral, parseCharacter, parseComplex, parseNumber } from './parse-number.ts'

interface ParserState {
  readonly source: SourceText
  readonly lexer: Lexer
  readonly bodies: Map<string | undefined, ListNode>
  blocks: number
  elseChain: number
}

class BodyState {
  readonly session: ParserState
  readonly tokens: TokenReader
  readonly variables: string[] = ['$']
  action: Token | undefined

  constructor (session: ParserState) {
    this.session = session
    this.tokens = new TokenReader(session.lexer)
  }

  /** @throws TemplateSyntaxError for an invalid one */
  unquoted (literal: string): string {
    return unquote(literal) ?? this.fail('invalid syntax')
  }

  /** @throws TemplateSyntaxError unless the token is of this kind */
  expect (kind: TokenKind, context: string): void {
    const token = this.tokens.nextNonSpace()
    if (token.kind !== kind) this.unexpected(token, context)
  }

  /** @throws TemplateSyntaxError */
  unexpected (token: Token, context: string): never {
    const { action } = this
    if (action !== undefined && this.#isOutside(token)) return this.fail('unclosed action', action)
    return this.fail(token.kind === 'error' ? token.value : `unexpected ${describeToken(token)} in ${context}`, token)
  }

  #isOutside ({ kind, value, offset }: Token): boolean {
    return kind === 'error' ? value === 'unclosed action' : kind === 'character' && this.session.source.text.startsWith('{{', offset)
  }

  /** Unlike here, Go does not say which block it is. @throws TemplateSyntaxError */
  unclosed (opening: Token): never {
    return this.fail(`unexpected EOF: {{${opening.value}}} has no {{end}}`, opening)
  }

  /** @throws TemplateSyntaxError */
  fail (problem: string, blamed: Token = this.tokens.latest): never {
    throw new TemplateSyntaxError(problem, this.session.source.position(blamed.offset))
  }
}

/** Puts back up to three tokens. Several readers can take turns on one lexer. */
class TokenReader {
  readonly #lexer: Lexer
  readonly #waiting: Token[] = []
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

const OPERAND_KINDS: ReadonlySet<TokenKind> = new Set<TokenKind>([
  'bool', 'constant-character', 'complex', '.', 'field', 'identifier', 'number', 'nil', 'raw-string', 'string', 'variable', 'left-paren'
])
const VALUES_WITHOUT_FIELDS: ReadonlySet<Operand['type']> = new Set<Operand['type']>(['bool', 'string', 'number', 'nil', 'dot'])

const MAX_PARENTHESES = 100

class ExpressionParser {
  readonly #state: BodyState
  #parentheses = 0

  constructor (state: BodyState) {
    this.#state = state
  }

  pipeline (context: string, end: TokenKind): Pipe {
    const { offset } = this.#state.tokens.peekNonSpace()
    const variables: VariableNode[] = []
    const isAssignment = this.#declarations(context, variables)
    const commands: Command[] = []
    for (;;) {
      const token = this.#state.tokens.nextNonSpace()
      if (token.kind === end) break
      if (!OPERAND_KINDS.has(token.kind)) return this.#state.unexpected(token, context)
      this.#state.tokens.putBack(token)
      commands.push(this.#command())
    }
    this.#checkPipeline(commands, context)
    return { type: 'pipe', offset, isAssignment, variables, commands: trimmed(commands) }
  }

  #declarations (context: string, variables: VariableNode[]): boolean {
    for (;;) {
      if (this.#state.tokens.peekNonSpace().kind !== 'variable') return false
      const variable = this.#state.tokens.nextNonSpace()
      const after = this.#state.tokens.next()
      const next = after.kind === 'space' ? this.#state.tokens.nextNonSpace() : after
      const isDeclared = next.kind === 'assign' || next.kind === 'declare'
      if (!isDeclared && !(next.kind === 'character' && next.value === ',')) {
        this.#state.tokens.putBack(variable, ...(after === next ? [] : [after]), next)
        return false
      }
      variables.push({ type: 'variable', start: variable.offset, offset: variable.offset, name: variable.value, fields: [] })
      this.#state.variables.push(variable.value)
      if (isDeclared) return next.kind === 'assign'
      if (context !== 'range' || variables.length >= 2) return this.#state.fail(`too many declarations in ${context}`)
      const second = this.#state.tokens.peekNonSpace().kind
      if (second !== 'variable' && second !== 'right-delimiter' && second !== 'right-paren') return this.#state.fail('range can only initialize variables')
    }
  }

  #checkPipeline (commands: readonly Command[], context: string): void {
    if (commands.length === 0) this.#state.fail(`missing value for ${context}`)
    for (const [index, { operands }] of commands.entries()) {
      const [first] = operands
      if (index > 0 && first !== undefined && VALUES_WITHOUT_FIELDS.has(first.type)) this.#state.fail(`non executable command in pipeline stage ${index + 1}`)
    }
  }

  #command (): Command {
    const { offset } = this.#state.tokens.peekNonSpace()
    const operands: Operand[] = []
    for (;;) {
      this.#state.tokens.peekNonSpace()
      const operand = this.#operand()
      if (operand !== undefined) operands.push(operand)
      const token = this.#state.tokens.next()
      if (token.kind === 'space') continue
      if (token.kind === 'right-delimiter' || token.kind === 'right-paren') this.#state.tokens.putBack(token)
      else if (token.kind !== 'pipe') this.#state.unexpected(token, 'operand')
      break
    }
    return operands.length > 0 ? { type: 'command', offset, operands: trimmed(operands) } : this.#state.fail('empty command')
  }

  #operand (): Operand | undefined {
    const term = this.#term()
    if (term === undefined || this.#state.tokens.peek().kind !== 'field') return term
    const { offset } = this.#state.tokens.peek()
    const fields: string[] = []
    while (this.#state.tokens.peek().kind === 'field') fields.push(this.#state.tokens.next().value.slice(1))
    if (term.type === 'field') return { ...term, offset, names: term.names.concat(fields) }
    if (term.type === 'variable') return { ...term, offset, fields }
    if (VALUES_WITHOUT_FIELDS.has(term.type)) return this.#state.fail(`unexpected . after term ${quoteText(literalText(term))}`)
    return { type: 'chain', start: startOf(term), offset, base: term, fields } satisfies ChainNode
  }

  #term (): Operand | undefined {
    const token = this.#state.tokens.nextNonSpace()
    const { offset, value } = token
    switch (token.kind) {
      case 'identifier': return { type: 'identifier', offset, name: value }
      case '.': return { type: 'dot', offset }
      case 'nil': return { type: 'nil', offset }
      case 'variable': return this.#variable(token)
      case 'field': return { type: 'field', start: offset, offset, names: [value.slice(1)] }
      case 'bool': return { type: 'bool', offset, value: value === 'true' }
      case 'constant-character': return this.#number(token, parseCharacter)
      case 'complex': return this.#number(token, parseComplex)
      case 'number': return this.#number(token, parseNumber)
      case 'left-paren': return this.#parenthesized()
      case 'string':
      case 'raw-string': return { type: 'string', offset, quoted: value, text: this.#state.unquoted(value) }
    }
    this.#state.tokens.putBack(token)
    return undefined
  }

  #variable (token: Token): VariableNode {
    const { offset, value } = token
    if (!this.#state.variables.includes(value)) this.#state.fail(`undefined variable ${quoteText(value)}`, token)
    return { type: 'variable', start: offset, offset, name: value, fields: [] }
  }

  #number (token: Token, read: (text: string) => NumberLiteral): NumberNode {
    const { offset, value } = token
    try {
      return { type: 'number', offset, text: value, literal: read(value) }
    } catch (error) {
      if (error instanceof NumberError) return this.#state.fail(error.message, token)
      throw error
    }
  }

  #parenthesized (): Pipe {
    if (this.#parentheses >= MAX_PARENTHESES) return this.#state.fail('max expression depth exceeded')
    this.#parentheses++
    const pipe = this.pipeline('parenthesized pipeline', 'right-paren')
    this.#parentheses--
    return pipe
  }
}

function literalText (term: Operand): string {
  switch (term.type) {
    case 'bool': return String(term.value)
    case 'string': return (term satisfies StringNode).quoted
    case 'number': return term.text
    default: return term.type === 'nil' ? 'nil' : '.'
  }
}

/** A list that grew has room for sixteen more: without it a compiled template takes a tenth less memory. */
function trimmed<T> (list: readonly T[]): readonly T[] {
  return list.slice()
}

const MAX_BLOCKS = 100

/** In a row, counted over all nested blocks. */
const MAX_ELSE_CHAIN = 500

/** Follows Go's text/template/parse. @throws TemplateSyntaxError */
export function parse (text: string): Tree {
  const source = new SourceText(text)
  const session: ParserState = { source, lexer: new Lexer(text), bodies: new Map(), blocks: 0, elseChain: 0 }
  new BodyParser(session).parseMain()
  return { source, bodies: session.bodies }
}

type Closing = { readonly type: 'end' } | { readonly type: 'else' }

const isString = ({ kind }: Token): boolean => kind === 'string' || kind === 'raw-string'

/** Bodies do not share variables. */
class BodyParser {
  readonly #state: BodyState
  readonly #expressions: ExpressionParser
  #ranges = 0

  constructor (session: ParserState) {
    this.#state = new BodyState(session)
    this.#expressions = new ExpressionParser(this.#state)
  }

  parseMain (): void {
    const nodes: Statement[] = []
    while (this.#state.tokens.peek().kind !== 'eof') {
      if (this.#state.tokens.peek().kind === 'left-delimiter') {
        const delimiter = this.#state.tokens.next()
        const token = this.#state.tokens.nextNonSpace()
        if (token.kind === 'define') {
          this.#definition(token)
          continue
        }
        this.#state.tokens.putBack(delimiter, token)
      }
      const node = this.#textOrAction()
      if (node.type === 'end' || node.type === 'else') return this.#state.fail(`unexpected {{${node.type}}}`)
      nodes.push(node)
    }
    this.#add(MAIN_BODY, { nodes })
  }

  #definition (opening: Token): void {
    const definition = new BodyParser(this.#state.session)
    const name = definition.#definitionName()
    definition.#state.expect('right-delimiter', 'define clause')
    definition.#add(name, definition.#wholeBody(opening, 'define clause'))
  }

  #definitionName (): string {
    const token = this.#state.tokens.nextNonSpace()
    return isString(token) ? this.#state.unquoted(token.value) : this.#state.unexpected(token, 'define clause')
  }

  #wholeBody (opening: Token, context: string): ListNode {
    const { list, closing } = this.#list(opening)
    return closing.type === 'end' ? list : this.#state.fail(`unexpected {{${closing.type}}} in ${context}`)
  }

  /** As in Go, a second body of one name is a mistake unless one is empty. */
  #add (name: string | undefined, list: ListNode): void {
    const { bodies } = this.#state.session
    const present = bodies.get(name)
    if (present === undefined || isEmpty(present)) bodies.set(name, list)
    else if (!isEmpty(list)) this.#state.fail(`template: multiple definition of template ${quoteText(name ?? '')}`)
  }

  #list (opening: Token): { list: ListNode, closing: Closing } {
    if (++this.#state.session.blocks > MAX_BLOCKS) this.#state.fail(`blocks nest deeper than ${MAX_BLOCKS}`)
    const nodes: Statement[] = []
    while (this.#state.tokens.peekNonSpace().kind !== 'eof') {
      const node = this.#textOrAction()
      if (node.type === 'end' || node.type === 'else') {
        this.#state.session.blocks--
        return { list: { nodes }, closing: node }
      }
      nodes.push(node)
    }
    return this.#state.unclosed(opening)
  }

  #textOrAction (): Statement | Closing {
    const token = this.#state.tokens.nextNonSpace()
    if (token.kind === 'text') return { type: 'text', offset: token.offset, text: token.value }
    if (token.kind !== 'left-delimiter') return this.#state.unexpected(token, 'input')
    this.#state.action = token
    const node = this.#action()
    this.#state.action = undefined
    return node
  }

  #action (): Statement | Closing {
    const token = this.#state.tokens.nextNonSpace()
    switch (token.kind) {
      case 'block': return this.#block(token)
      case 'break':
      case 'continue': return this.#jump(token.kind, token)
      case 'else': return this.#else()
      case 'end':
        this.#state.expect('right-delimiter', 'end')
        return { type: 'end' }
      case 'if':
      case 'range':
      case 'with': return this.#branch(token.kind, token)
      case 'template': return this.#template()
    }
    this.#state.tokens.putBack(token)
    return { type: 'action', offset: token.offset, pipe: this.#expressions.pipeline('command', 'right-delimiter') }
  }

  #jump (type: 'break' | 'continue', { offset }: Token): Statement {
    this.#state.expect('right-delimiter', `{{${type}}}`)
    return this.#ranges > 0 ? { type, offset } : this.#state.fail(`{{${type}}} outside {{range}}`)
  }

  #else (): Closing {
    const next = this.#state.tokens.peekNonSpace().kind
    // `else if` and `else with` are read as an `else` with a block of its own.
    if (next !== 'if' && next !== 'with') this.#state.expect('right-delimiter', 'else')
    return { type: 'else' }
  }

  #branch (type: BranchNode['type'], opening: Token): BranchNode {
    const outerVariables = this.#state.variables.length
    const pipe = this.#expressions.pipeline(type, 'right-delimiter')
    if (type === 'range') this.#ranges++
    const { list, closing } = this.#list(opening)
    if (type === 'range') this.#ranges--
    const otherwise = closing.type === 'end' ? undefined : this.#otherwise(type, opening)
    this.#state.variables.length = outerVariables
    return { type, offset: pipe.offset, pipe, list, otherwise }
  }

  #otherwise (type: BranchNode['type'], opening: Token): ListNode {
    if (type !== 'range' && this.#state.tokens.peek().kind === type) return this.#elseBranch(type, opening)
    const { list, closing } = this.#list(opening)
    return closing.type === 'end' ? list : this.#state.fail(`expected end; found {{${closing.type}}}`)
  }

  /** Parses `{{else if}}`: a block of its own in the else list, which ends with the same `{{end}}`. */
  #elseBranch (type: BranchNode['type'], opening: Token): ListNode {
    if (++this.#state.session.elseChain > MAX_ELSE_CHAIN) this.#state.fail(`more than ${MAX_ELSE_CHAIN} else branches follow each other`)
    this.#state.tokens.next()
    const branch = this.#branch(type, opening)
    this.#state.session.elseChain--
    return { nodes: [branch] }
  }

  #block (opening: Token): TemplateNode {
    const token = this.#state.tokens.nextNonSpace()
    const name = this.#templateName(token, 'block clause')
    const pipe = this.#expressions.pipeline('block clause', 'right-delimiter')
    const body = new BodyParser(this.#state.session)
    body.#add(name, body.#wholeBody(opening, 'block clause'))
    return { type: 'template', offset: token.offset, name, pipe }
  }

  #template (): TemplateNode {
    const token = this.#state.tokens.nextNonSpace()
    const name = this.#templateName(token, 'template clause')
    const next = this.#state.tokens.nextNonSpace()
    if (next.kind === 'right-delimiter') return { type: 'template', offset: token.offset, name, pipe: undefined }
    this.#state.tokens.putBack(next)
    return { type: 'template', offset: token.offset, name, pipe: this.#expressions.pipeline('template clause', 'right-delimiter') }
  }

  #templateName (token: Token, context: string): string {
    return isString(token) ? this.#state.unquoted(token.value) : this.#state.unexpected(token, context)
  }
}

function isEmpty ({ nodes }: ListNode): boolean {
  return nodes.every(node => node.type === 'text' && /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$/.test(node.text))
}
