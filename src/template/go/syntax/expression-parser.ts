import { quoteText } from '../fmt/quote.ts'
import { type BodyState } from './body-state.ts'
import { type ChainNode, type Command, type NumberNode, type Operand, type Pipe, startOf, type StringNode, type VariableNode } from './node.ts'
import { type NumberLiteral, NumberError, parseCharacter, parseComplex, parseNumber } from './number.ts'
import { type Token, type TokenKind } from './token.ts'

const OPERAND_KINDS: ReadonlySet<TokenKind> = new Set<TokenKind>([
  'bool', 'constant-character', 'complex', '.', 'field', 'identifier', 'number', 'nil', 'raw-string', 'string', 'variable', 'left-paren'
])
const VALUES_WITHOUT_FIELDS: ReadonlySet<Operand['type']> = new Set<Operand['type']>(['bool', 'string', 'number', 'nil', 'dot'])

/** The most levels of nested parentheses. */
const MAX_PARENTHESES = 100

/** Parses the inside of an action, `{{…}}`: pipelines, commands, operands. */
export class ExpressionParser {
  readonly #state: BodyState
  #parentheses = 0

  constructor (state: BodyState) {
    this.#state = state
  }

  /** Reads a pipeline and the token that ends it. @param context the name of the pipeline in messages */
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

  /** Reads declarations such as `$a, $b :=`, if there are any. @returns whether `=` follows the variables, which then are assigned and not declared */
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

/** The source text of an operand that cannot have fields, such as `true`. */
function literalText (term: Operand): string {
  switch (term.type) {
    case 'bool': return String(term.value)
    case 'string': return (term satisfies StringNode).quoted
    case 'number': return term.text
    default: return term.type === 'nil' ? 'nil' : '.'
  }
}

/** A copy of a list without spare room. A list that grew has room for sixteen more items; without that room a compiled template takes a tenth less memory. */
function trimmed<T> (list: readonly T[]): readonly T[] {
  return list.slice()
}
