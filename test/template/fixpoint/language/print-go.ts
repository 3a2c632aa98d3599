import { type Expression, type Program, type Statement } from '../program.ts'

/** The Go source of a template with the templates that it defines. */
export function printGo (body: readonly Statement[], locals: Program['partials']): string {
  return locals.map(({ name, body }) => `{{define "${name}"}}${statements(body)}{{end}}`).join('') + statements(body)
}

function statements (list: readonly Statement[]): string {
  return list.map(statement).join('')
}

function statement (node: Statement): string {
  switch (node.type) {
    case 'text': return node.text
    case 'print': return `{{${command(node.value)}}}`
    case 'set': return `{{$${node.name} ${node.declares ? ':=' : '='} ${command(node.value)}}}`
    case 'jump': return `{{${node.kind}}}`
    case 'if': return branches(`if ${command(node.isNegated ? negated(node.condition) : node.condition)}`, node)
    case 'with': return branches(`with ${node.variable === undefined ? '' : `$${node.variable} := `}${command(node.value)}`, node)
    case 'loop': return branches(`range ${header(node)}${command(node.list)}`, node)
    case 'partial': return `{{template "${node.name}"${node.argument === undefined ? '' : ` ${command(node.argument)}`}}}`
    case 'section':
    case 'block': throw new Error(`Go has no ${node.type}`)
  }
}

function negated (condition: Expression): Expression {
  return { type: 'function', name: 'not', operands: [condition], isPiped: false }
}

function branches (opening: string, { type, body, otherwise }: Extract<Statement, { body: unknown }>): string {
  const start = `{{${opening}}}${statements(body)}`
  if (otherwise === undefined) return `${start}{{end}}`
  const [only, ...others] = otherwise
  const isChain = others.length === 0 && type !== 'loop' && only !== undefined && only.type === type
  return isChain ? `${start}{{else ${statement(only).slice(2)}` : `${start}{{else}}${statements(otherwise)}{{end}}`
}

function header ({ key, element, assigns }: Extract<Statement, { type: 'loop' }>): string {
  if (element === undefined) return ''
  return `${key === undefined ? '' : `$${key}, `}$${element} ${assigns ? '=' : ':='} `
}

/** An expression as a whole pipeline. */
function command (node: Expression): string {
  switch (node.type) {
    case 'function':
    case 'tool': return call(node.name, node.operands, node.isPiped)
    default: return operand(node)
  }
}

function call (name: string, operands: readonly Expression[], isPiped: boolean): string {
  if (!isPiped) return [name, ...operands.map(operand)].join(' ')
  return [`${command(operands.at(-1) as Expression)} | ${name}`, ...operands.slice(0, -1).map(operand)].join(' ')
}

/** An expression in the place of an argument. */
function operand (node: Expression): string {
  switch (node.type) {
    case 'literal': return node.value === null ? 'nil' : JSON.stringify(node.value)
    case 'dot': return '.'
    case 'variable': return `$${node.name}`
    case 'field': return `${node.base.type === 'dot' ? '' : operand(node.base)}.${node.names.join('.')}`
    case 'assign': return `($${node.name} = ${command(node.value)})`
    case 'function':
    case 'tool': return `(${command(node)})`
    default: throw new Error(`Go has no ${node.type}`)
  }
}
