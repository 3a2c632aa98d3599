import { quoteText } from '../fmt/quote.ts'
import { BodyState, type Session } from './body-state.ts'
import { ExpressionParser } from './expression-parser.ts'
import { Lexer } from './lexer.ts'
import { type BranchNode, type ListNode, MAIN_BODY, type Statement, type TemplateNode, type Tree } from './node.ts'
import { Source } from './source.ts'
import { type Token } from './token.ts'

/** The most levels of nested blocks. */
const MAX_BLOCKS = 100

/** The most `{{else if}}` and `{{else with}}` in a row, counted over all nested blocks. */
const MAX_ELSE_CHAIN = 500

/** Parses a template by the rules of Go's text/template/parse. @throws TemplateSyntaxError */
export function parse (text: string): Tree {
  const source = new Source(text)
  const session: Session = { source, lexer: new Lexer(text), bodies: new Map(), blocks: 0, elseChain: 0 }
  new Parser(session).parseMain()
  return { source, bodies: session.bodies }
}

/** The end of a list, `{{end}}` or `{{else}}`, which is no part of the tree. */
type Closing = { readonly type: 'end' } | { readonly type: 'else' }

const isString = ({ kind }: Token): boolean => kind === 'string' || kind === 'raw-string'

/** Parses one body: the template itself, or one that `define` or `block` begins. Bodies do not share variables. */
class Parser {
  readonly #state: BodyState
  readonly #expressions: ExpressionParser
  #ranges = 0

  constructor (session: Session) {
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

  /** Parses `{{define "name"}} … {{end}}`; the word `define` has been read. The parser of the definition begins here and reads on from the same lexer. */
  #definition (opening: Token): void {
    const definition = new Parser(this.#state.session)
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

  /** Adds a body. A second body of one name is a mistake, unless one of the two is empty. */
  #add (name: string | undefined, list: ListNode): void {
    const { bodies } = this.#state.session
    const present = bodies.get(name)
    if (present === undefined || isEmpty(present)) bodies.set(name, list)
    else if (!isEmpty(list)) this.#state.fail(`template: multiple definition of template ${quoteText(name ?? '')}`)
  }

  /** Parses a list of statements. @param opening the word that begins the block which `{{end}}` must close */
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
    const body = new Parser(this.#state.session)
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

/** Whether a body has only white space, by Go's definition of it. Comments are not in the tree. */
function isEmpty ({ nodes }: ListNode): boolean {
  return nodes.every(node => node.type === 'text' && /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$/.test(node.text))
}
