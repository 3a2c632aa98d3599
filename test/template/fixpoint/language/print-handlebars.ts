import { type Expression, type Named, type Program, type Statement } from '../program.ts'

/** The Handlebars source of a template with the inline partials that it defines. */
export function printHandlebars (body: readonly Statement[], locals: Program['partials']): string {
  return locals.map(({ name, body }) => `{{#*inline "${name}"}}${statements(body)}{{/inline}}`).join('') + statements(body)
}

function statements (list: readonly Statement[]): string {
  return list.map(statement).join('')
}

function statement (node: Statement): string {
  switch (node.type) {
    case 'text': return node.text
    // A literal in this place would be the name of a path.
    case 'print': return node.value.type === 'literal' ? String(node.value.value ?? '') : `{{${command(node.value)}}}`
    case 'if': return branches(node.isNegated ? 'unless' : 'if', operand(node.condition), node)
    case 'with': return branches('with', `${operand(node.value)}${parameters([node.variable])}`, node)
    case 'loop': return branches('each', `${operand(node.list)}${parameters([node.element, node.key])}`, node)
    case 'section': return section(node)
    case 'partial': return partial(node)
    case 'block': return '{{> @partial-block}}'
    case 'set':
    case 'jump': throw new Error(`Handlebars has no ${node.type}`)
  }
}

function parameters (names: ReadonlyArray<string | undefined>): string {
  const [first, second] = names
  if (first === undefined) return ''
  return second === undefined ? ` as |${first}|` : ` as |${first} ${second}|`
}

function branches (name: string, argument: string, { type, body, otherwise }: Extract<Statement, { body: unknown }>): string {
  const start = `{{#${name} ${argument}}}${statements(body)}`
  if (otherwise === undefined) return `${start}{{/${name}}}`
  const [only, ...others] = otherwise
  const isChain = others.length === 0 && type !== 'loop' && (only?.type === 'if' || only?.type === 'with')
  if (!isChain) return `${start}{{else}}${statements(otherwise)}{{/${name}}}`
  const inner = statement(only)
  return `${start}{{else ${inner.slice(3, inner.lastIndexOf('{{/'))}{{/${name}}}`
}

function section ({ value, body, otherwise }: Extract<Statement, { type: 'section' }>): string {
  const name = value.type === 'tool' ? value.name : operand(value)
  const rest = otherwise === undefined ? '' : `{{else}}${statements(otherwise)}`
  if (body.length === 0 && otherwise !== undefined) return `{{^${command(value)}}}${statements(otherwise)}{{/${name}}}`
  return `{{#${command(value)}}}${statements(body)}${rest}{{/${name}}}`
}

function partial ({ name, argument, named, block }: Extract<Statement, { type: 'partial' }>): string {
  const words = [name, ...argument === undefined ? [] : [operand(argument)], ...hash(named)].join(' ')
  return block === undefined ? `{{> ${words}}}` : `{{#> ${words}}}${statements(block)}{{/${name}}}`
}

/** An expression as a whole tag. */
function command (node: Expression): string {
  if (node.type === 'function') return [node.name, ...node.operands.map(operand)].join(' ')
  if (node.type === 'tool') return [node.name, ...node.operands.map(operand), ...hash(node.named)].join(' ')
  return operand(node)
}

function hash (named: Named): string[] {
  return named.map(({ name, value }) => `${name}=${operand(value)}`)
}

/** An expression in the place of an argument. */
function operand (node: Expression): string {
  switch (node.type) {
    case 'literal': return JSON.stringify(node.value)
    case 'dot': return 'this'
    case 'root': return '@root'
    case 'outer': return `${'../'.repeat(node.depth - 1)}..`
    case 'data': return `@${node.name}`
    case 'variable': return node.name
    case 'field': return field(node)
    case 'function':
    case 'tool': return `(${command(node)})`
    case 'assign': throw new Error('Handlebars has no assignments')
  }
}

function field ({ base, names }: Extract<Expression, { type: 'field' }>): string {
  const path = names.join('.')
  switch (base.type) {
    case 'dot': return path
    case 'outer': return `${'../'.repeat(base.depth)}${path}`
    case 'root':
    case 'variable': return `${operand(base)}.${path}`
    default: throw new Error(`Handlebars has no members of a ${base.type}`)
  }
}
