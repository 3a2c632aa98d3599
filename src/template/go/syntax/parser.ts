import { TemplateSyntaxError } from '../../language.ts'
import { quoteText } from '../fmt/quote.ts'
import { Lexer } from './lexer.ts'
import {
  type BranchNode, type ChainNode, type Command, type ListNode, type NumberNode, type Operand, type Pipe, type Statement, type StringNode,
  startOf, type TemplateNode, type Tree, type VariableNode
} from './node.ts'
import { type NumberLiteral, NumberError, parseCharacter, parseComplex, parseNumber } from './number.ts'
import { Source } from './source.ts'
import { TokenReader } from './token-reader.ts'
import { describeToken, type Token, type TokenKind } from './token.ts'
import { unquote } from './unquote.ts'

/** What a parser must know of the engine that it works for. */
export interface ParserOptions {
  /** What the template is called in messages and by `{{template}}`. */
  readonly name: string
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

/** Parses a template by the rules of Go's text/template/parse. @throws TemplateSyntaxError */
export function parse (text: string, options: ParserOptions): Tree {
  const source = new Source(text)
  const session: Session = { source, options, lexer: new Lexer(text), bodies: new Map(), blocks: 0, elseChain: 0 }
  new Parser(session, options.name).parseMain()
  return { source, name: options.name, bodies: session.bodies }
}

/** What the parsers of one source share. */
interface Session {
  readonly source: Source
  readonly options: ParserOptions
  readonly lexer: Lexer
  readonly bodies: Map<string, ListNode>
  blocks: number
  elseChain: number
}

/** `{{end}}` and `{{else}}`, which close a list and are no part of the tree. */
type Closing = { readonly type: 'end' } | { readonly type: 'else' }

const OPERAND_KINDS: ReadonlySet<TokenKind> = new Set<TokenKind>(['bool', 'constant-character', 'complex', '.', 'field', 'identifier', 'number', 'nil', 'raw-string', 'string', 'variable', 'left-paren'])
const VALUES_WITHOUT_FIELDS: ReadonlySet<Operand['type']> = new Set<Operand['type']>(['bool', 'string', 'number', 'nil', 'dot'])

const isString = ({ kind }: Token): boolean => kind === 'string' || kind === 'raw-string'

/** Parses one body: the template itself, or one that `define` or `block` opens. Bodies see none of each other's variables. */
class Parser {
  readonly #session: Session
  readonly #tokens: TokenReader
  readonly #name: string
  #variables: string[] = ['$']
  /** Line of the action being read, for messages about what is not closed; 0 outside. */
  #actionLine = 0
  #ranges = 0
  #parentheses = 0

  constructor (session: Session, name: string) {
    this.#session = session
    this.#tokens = new TokenReader(session.lexer)
    this.#name = name
  }

  parseMain (): void {
    const nodes: Statement[] = []
    while (this.#tokens.peek().kind !== 'eof') {
      if (this.#tokens.peek().kind === 'left-delimiter') {
        const delimiter = this.#tokens.next()
        const token = this.#tokens.nextNonSpace()
        if (token.kind === 'define') {
          this.#definition()
          continue
        }
        this.#tokens.putBack(delimiter, token)
      }
      const node = this.#textOrAction()
      if (node.type === 'end' || node.type === 'else') return this.#fail(`unexpected {{${node.type}}}`)
      nodes.push(node)
    }
    this.#add(this.#name, { nodes })
  }

  /** `{{define "name"}} … {{end}}`; the word `define` has been read. Its parser starts here and reads on from the same lexer. */
  #definition (): void {
    const definition = new Parser(this.#session, '')
    const name = definition.#definitionName()
    definition.#expect('right-delimiter', 'define clause')
    definition.#add(name, definition.#wholeBody('define clause'))
  }

  #definitionName (): string {
    const token = this.#tokens.nextNonSpace()
    return isString(token) ? this.#unquoted(token.value) : this.#unexpected(token, 'define clause')
  }

  #wholeBody (context: string): ListNode {
    const { list, closing } = this.#list()
    return closing.type === 'end' ? list : this.#fail(`unexpected {{${closing.type}}} in ${context}`)
  }

  /** A second body of one name is a mistake, unless one of the two is empty. */
  #add (name: string, list: ListNode): void {
    const { bodies } = this.#session
    const present = bodies.get(name)
    if (present === undefined || isEmpty(present)) bodies.set(name, list)
    else if (!isEmpty(list)) this.#fail(`template: multiple definition of template ${quoteText(name)}`)
  }

  #list (): { list: ListNode, closing: Closing } {
    const { options } = this.#session
    if (++this.#session.blocks > options.maxBlocks) this.#fail(`blocks nest deeper than ${options.maxBlocks}`)
    const nodes: Statement[] = []
    while (this.#tokens.peekNonSpace().kind !== 'eof') {
      const node = this.#textOrAction()
      if (node.type === 'end' || node.type === 'else') {
        this.#session.blocks--
        return { list: { nodes }, closing: node }
      }
      nodes.push(node)
    }
    return this.#fail('unexpected EOF')
  }

  #textOrAction (): Statement | Closing {
    const token = this.#tokens.nextNonSpace()
    if (token.kind === 'text') return { type: 'text', offset: token.offset, text: token.value }
    if (token.kind !== 'left-delimiter') return this.#unexpected(token, 'input')
    this.#actionLine = token.line
    const node = this.#action()
    this.#actionLine = 0
    return node
  }

  #action (): Statement | Closing {
    const token = this.#tokens.nextNonSpace()
    switch (token.kind) {
      case 'block': return this.#block()
      case 'break':
      case 'continue': return this.#jump(token.kind, token)
      case 'else': return this.#else()
      case 'end':
        this.#expect('right-delimiter', 'end')
        return { type: 'end' }
      case 'if':
      case 'range':
      case 'with': return this.#branch(token.kind)
      case 'template': return this.#template()
    }
    this.#tokens.putBack(token)
    return { type: 'action', offset: token.offset, pipe: this.#pipeline('command', 'right-delimiter') }
  }

  #jump (type: 'break' | 'continue', { offset }: Token): Statement {
    this.#expect('right-delimiter', `{{${type}}}`)
    return this.#ranges > 0 ? { type, offset } : this.#fail(`{{${type}}} outside {{range}}`)
  }

  #else (): Closing {
    const next = this.#tokens.peekNonSpace().kind
    // `else if` and `else with` are read as `else` and a block of its own.
    if (next !== 'if' && next !== 'with') this.#expect('right-delimiter', 'else')
    return { type: 'else' }
  }

  #branch (type: BranchNode['type']): BranchNode {
    const outerVariables = this.#variables.length
    const pipe = this.#pipeline(type, 'right-delimiter')
    if (type === 'range') this.#ranges++
    const { list, closing } = this.#list()
    if (type === 'range') this.#ranges--
    const otherwise = closing.type === 'end' ? undefined : this.#otherwise(type)
    this.#variables.length = outerVariables
    return { type, offset: pipe.offset, pipe, list, otherwise }
  }

  #otherwise (type: BranchNode['type']): ListNode {
    if (type !== 'range' && this.#tokens.peek().kind === type) return this.#elseBranch(type)
    const { list, closing } = this.#list()
    return closing.type === 'end' ? list : this.#fail(`expected end; found {{${closing.type}}}`)
  }

  /** `{{else if}}`: a block of its own in the else list, ended by the same `{{end}}`. */
  #elseBranch (type: BranchNode['type']): ListNode {
    const { options } = this.#session
    if (++this.#session.elseChain > options.maxElseChain) this.#fail(`more than ${options.maxElseChain} else branches follow each other`)
    this.#tokens.next()
    const branch = this.#branch(type)
    this.#session.elseChain--
    return { nodes: [branch] }
  }

  #block (): TemplateNode {
    const token = this.#tokens.nextNonSpace()
    const name = this.#templateName(token, 'block clause')
    const pipe = this.#pipeline('block clause', 'right-delimiter')
    const body = new Parser(this.#session, name)
    body.#add(name, body.#wholeBody('block clause'))
    return { type: 'template', offset: token.offset, name, pipe }
  }

  #template (): TemplateNode {
    const token = this.#tokens.nextNonSpace()
    const name = this.#templateName(token, 'template clause')
    const next = this.#tokens.nextNonSpace()
    if (next.kind === 'right-delimiter') return { type: 'template', offset: token.offset, name, pipe: undefined }
    this.#tokens.putBack(next)
    return { type: 'template', offset: token.offset, name, pipe: this.#pipeline('template clause', 'right-delimiter') }
  }

  #templateName (token: Token, context: string): string {
    return isString(token) ? this.#unquoted(token.value) : this.#unexpected(token, context)
  }

  #pipeline (context: string, end: TokenKind): Pipe {
    const { offset } = this.#tokens.peekNonSpace()
    const variables: VariableNode[] = []
    const isAssignment = this.#declarations(context, variables)
    const commands: Command[] = []
    for (;;) {
      const token = this.#tokens.nextNonSpace()
      if (token.kind === end) break
      if (!OPERAND_KINDS.has(token.kind)) return this.#unexpected(token, context)
      this.#tokens.putBack(token)
      commands.push(this.#command())
    }
    this.#checkPipeline(commands, context)
    return { type: 'pipe', offset, isAssignment, variables, commands }
  }

  /** Reads `$a, $b :=` if it is there; tells whether it was an assignment. */
  #declarations (context: string, variables: VariableNode[]): boolean {
    for (;;) {
      if (this.#tokens.peekNonSpace().kind !== 'variable') return false
      const variable = this.#tokens.nextNonSpace()
      const after = this.#tokens.next()
      const next = after.kind === 'space' ? this.#tokens.nextNonSpace() : after
      const isDeclared = next.kind === 'assign' || next.kind === 'declare'
      if (!isDeclared && !(next.kind === 'character' && next.value === ',')) {
        this.#tokens.putBack(variable, ...(after === next ? [] : [after]), next)
        return false
      }
      variables.push({ type: 'variable', start: variable.offset, offset: variable.offset, name: variable.value, fields: [] })
      this.#variables.push(variable.value)
      if (isDeclared) return next.kind === 'assign'
      if (context !== 'range' || variables.length >= 2) return this.#fail(`too many declarations in ${context}`)
      const second = this.#tokens.peekNonSpace().kind
      if (second !== 'variable' && second !== 'right-delimiter' && second !== 'right-paren') return this.#fail('range can only initialize variables')
    }
  }

  #checkPipeline (commands: readonly Command[], context: string): void {
    if (commands.length === 0) this.#fail(`missing value for ${context}`)
    for (const [index, { operands }] of commands.entries()) {
      const [first] = operands
      if (index > 0 && first !== undefined && VALUES_WITHOUT_FIELDS.has(first.type)) this.#fail(`non executable command in pipeline stage ${index + 1}`)
    }
  }

  #command (): Command {
    const { offset } = this.#tokens.peekNonSpace()
    const operands: Operand[] = []
    for (;;) {
      this.#tokens.peekNonSpace()
      const operand = this.#operand()
      if (operand !== undefined) operands.push(operand)
      const token = this.#tokens.next()
      if (token.kind === 'space') continue
      if (token.kind === 'right-delimiter' || token.kind === 'right-paren') this.#tokens.putBack(token)
      else if (token.kind !== 'pipe') this.#unexpected(token, 'operand')
      break
    }
    return operands.length > 0 ? { type: 'command', offset, operands } : this.#fail('empty command')
  }

  #operand (): Operand | undefined {
    const term = this.#term()
    if (term === undefined || this.#tokens.peek().kind !== 'field') return term
    const { offset } = this.#tokens.peek()
    const fields: string[] = []
    while (this.#tokens.peek().kind === 'field') fields.push(this.#tokens.next().value.slice(1))
    if (term.type === 'field') return { ...term, offset, names: [...term.names, ...fields] }
    if (term.type === 'variable') return { ...term, offset, fields }
    if (VALUES_WITHOUT_FIELDS.has(term.type)) return this.#fail(`unexpected . after term ${quoteText(literalText(term))}`)
    return { type: 'chain', start: startOf(term), offset, base: term, fields } satisfies ChainNode
  }

  #term (): Operand | undefined {
    const token = this.#tokens.nextNonSpace()
    const { offset, value } = token
    switch (token.kind) {
      case 'identifier':
        if (!this.#session.options.isFunction(value)) return this.#fail(`function ${quoteText(value)} not defined`)
        return { type: 'identifier', offset, name: value }
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
      case 'raw-string': return { type: 'string', offset, quoted: value, text: this.#unquoted(value) }
    }
    this.#tokens.putBack(token)
    return undefined
  }

  #variable (token: Token): VariableNode {
    const { offset, value } = token
    if (!this.#variables.includes(value)) this.#fail(`undefined variable ${quoteText(value)}`, token)
    return { type: 'variable', start: offset, offset, name: value, fields: [] }
  }

  #number (token: Token, read: (text: string) => NumberLiteral): NumberNode {
    const { offset, value } = token
    try {
      return { type: 'number', offset, text: value, literal: read(value) }
    } catch (error) {
      if (error instanceof NumberError) return this.#fail(error.message, token)
      throw error
    }
  }

  #parenthesized (): Pipe {
    if (this.#parentheses >= this.#session.options.maxParentheses) return this.#fail('max expression depth exceeded')
    this.#parentheses++
    const pipe = this.#pipeline('parenthesized pipeline', 'right-paren')
    this.#parentheses--
    return pipe
  }

  #unquoted (literal: string): string {
    return unquote(literal) ?? this.#fail('invalid syntax')
  }

  #expect (kind: TokenKind, context: string): void {
    const token = this.#tokens.nextNonSpace()
    if (token.kind !== kind) this.#unexpected(token, context)
  }

  #unexpected (token: Token, context: string): never {
    if (token.kind !== 'error') return this.#fail(`unexpected ${describeToken(token)} in ${context}`, token)
    const isElsewhere = this.#actionLine !== 0 && this.#actionLine !== token.line
    if (!isElsewhere || !this.#session.options.goMessages) return this.#fail(token.value, token)
    return this.#fail(`${token.value}${token.value.endsWith(' action') ? '' : ' in action'} started at ${this.#session.options.name}:${this.#actionLine}`, token)
  }

  /** Go's messages name the line that was read last; the position is that of the token to blame, where there is one. */
  #fail (problem: string, blamed?: Token): never {
    const { source, options } = this.#session
    const { line } = this.#tokens.latest
    const { offset } = blamed ?? this.#tokens.latest
    throw new TemplateSyntaxError(options.goMessages ? `template: ${options.name}:${line}: ${problem}` : problem, source.position(offset))
  }
}

/** How a value that takes no fields was written. */
function literalText (term: Operand): string {
  switch (term.type) {
    case 'bool': return String(term.value)
    case 'string': return (term satisfies StringNode).quoted
    case 'number': return term.text
    default: return term.type === 'nil' ? 'nil' : '.'
  }
}

/** Whether a body is nothing but white space, as Go sees it; comments leave no trace. */
function isEmpty ({ nodes }: ListNode): boolean {
  return nodes.every(node => node.type === 'text' && /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$/.test(node.text))
}
