import { ALONE, type Beside, type Literal } from '../../explain/piece.ts'
import { type DecoratorBlock, type Mustache, type Program, type Statement } from '../syntax/ast.ts'
import { compileBlock } from './blocks.ts'
import { literalName } from './arguments.ts'
import { syntaxError, type Environment, type Sequence } from './environment.ts'
import { compileHead } from './head.ts'
import { compilePartial, compilePartialBlock } from './partials.ts'
import { positionOf } from '../syntax/parse.ts'
import { type Evaluate, type Inline, type Render, type Scope } from './scope.ts'
import { traceLiteral, tracePart } from './explain/trace-statements.ts'
import { printed } from '../../functions/arguments.ts'
import { type Position } from '../../position.ts'
import { type Run } from '../../run/run.ts'
import { refuseRoot } from '../../language.ts'
import { LazyNode, PENDING, type Value } from '../../value.ts'
import { failAt } from './failure.ts'

/** A part of a sequence: a text, or a closure that computes one. */
type Part = string | Render

/** Compiles a sequence of statements; see `Compilers.sequence`. */
export function compileSequence (
  program: Program,
  environment: Environment,
  outside: Environment | undefined,
  definedIn: (scope: Scope) => Scope | undefined,
  isHanded = false
): Sequence {
  const { collection } = environment
  const decorators = program.body.filter(statement => statement.type === 'DecoratorBlock')
  const inner = decorators.length === 0 ? environment : { ...environment, inlines: new Set([...environment.inlines, ...decorators.map(inlineName)]) }

  const nodesOutside = collection.nodes
  collection.nodes = 0
  const parts = inner.tracing.isOn ? compileTracedParts(program, inner) : compileParts(program, inner)
  const render = concatenate(parts, Math.max(collection.nodes, 1))
  const inForce = isHanded ? environment : inner
  const inlines = decorators.map(decorator => ({ name: inlineName(decorator), render: compileInline(decorator, inForce, outside) }))
  collection.nodes = nodesOutside
  return { render: inlines.length === 0 ? render : withInlines(render, inlines, definedIn), inlines }
}

function compileParts (program: Program, environment: Environment): Part[] {
  const parts: Part[] = []
  for (const statement of program.body) {
    const part = compileStatement(statement, environment, ALONE)
    if (part === undefined) continue
    environment.collection.nodes++
    parts.push(part)
  }
  return parts
}

/**
 * Compiles the parts of a sequence in a template that is explained. Texts are reported to the trace, too: by the printing closure beside them if there
 * is one, otherwise by a closure of their own.
 */
function compileTracedParts ({ body }: Program, environment: Environment): Part[] {
  const parts: Part[] = []
  let before: Literal | undefined
  for (const [index, statement] of body.entries()) {
    const isPrinting = statement.type === 'MustacheStatement'
    const after = isPrinting && index === body.length - 2 ? literalOf(body[index + 1] as Statement) : undefined
    const part = compileStatement(statement, environment, { before, after })
    if (part === undefined) continue
    environment.collection.nodes++
    if (typeof part === 'string') {
      if (before !== undefined) parts.push(traceLiteral(before))
      before = literalOf(statement)
      parts.push(part)
    } else {
      parts.push(isPrinting ? part : tracePart(part, before, statement.type === 'BlockStatement'))
      before = undefined
    }
    if (after === undefined) continue
    environment.collection.nodes++
    return [...parts, after.text]
  }
  return before === undefined ? parts : [...parts, traceLiteral(before)]
}

function literalOf (statement: Statement): Literal | undefined {
  return statement.type === 'ContentStatement' && statement.value !== '' ? { text: statement.value, ...positionOf(statement.loc.start) } : undefined
}

/** Compiles one statement: a text for content, a closure for computed output, `undefined` for a statement without output. */
function compileStatement (statement: Statement, environment: Environment, beside: Beside): Part | undefined {
  switch (statement.type) {
    case 'ContentStatement': return statement.value === '' ? undefined : statement.value
    case 'CommentStatement': return undefined
    case 'MustacheStatement': return compileMustache(statement, environment, beside)
    case 'BlockStatement': return compileBlock(statement, environment)
    case 'PartialStatement': return compilePartial(statement, environment)
    case 'PartialBlockStatement': return compilePartialBlock(statement, environment)
    case 'DecoratorBlock': return undefined
    case 'Decorator': throw syntaxError('decorators other than {{#*inline "name"}} are not available', statement)
  }
}

function compileMustache (mustache: Mustache, environment: Environment, beside: Beside): Render {
  const at = positionOf(mustache.loc.start)
  const head = compileHead(mustache, environment, 'used')
  const print = compilePrint(head.evaluate, at)
  return environment.tracing.writing(print, head.traced, at, beside)
}

/** The name of an inline partial. @throws TemplateSyntaxError for any other decorator */
export function inlineName (decorator: DecoratorBlock): string {
  const isInline = decorator.path.type === 'PathExpression' && decorator.path.original === 'inline'
  if (!isInline) throw syntaxError('decorators other than {{#*inline "name"}} are not available', decorator)
  const [name] = decorator.params
  const isLiteral = name !== undefined && name.type !== 'PathExpression' && name.type !== 'SubExpression'
  if (!isLiteral || decorator.params.length > 1) throw syntaxError('an inline partial needs one name, in quotes: {{#*inline "name"}}', decorator)
  return literalName(name)
}

function compileInline (decorator: DecoratorBlock, environment: Environment, outside: Environment | undefined): Render {
  const inside: Environment = {
    collection: environment.collection,
    context: environment.collection.inlines.standIn(inlineName(decorator)),
    up: outside,
    params: outside?.params,
    inlines: environment.inlines,
    depth: environment.depth + 1,
    tracing: environment.tracing
  }
  const { render } = compileSequence(decorator.program, inside, outside, scope => scope.outer)
  return environment.tracing.entry(render)
}

function withInlines (render: Render, defined: Sequence['inlines'], definedIn: (scope: Scope) => Scope | undefined): Render {
  return scope => {
    const { rendering } = scope
    const before = rendering.inlines
    const inlines = new Map<string, Inline>(before)
    for (const { name, render } of defined) inlines.set(name, { render, defined: definedIn(scope), rendering })
    rendering.inlines = inlines
    const output = render(scope)
    rendering.inlines = before
    return output
  }
}

/** Compiles the printing of a value: never escaped, objects and lists as JSON, null and `NOTHING` as the empty text. */
function compilePrint (evaluate: Evaluate, at: Position): Render {
  return scope => {
    const value = evaluate(scope)
    if (typeof value === 'string') return value
    return typeof value === 'number' ? `${value}` : printOther(value, scope.rendering.run, at)
  }
}

function printOther (value: Value, run: Run, at: Position): string {
  if (value instanceof LazyNode) refuseRoot(value, 'handlebars', at)
  const known = run.consume(value, at)
  if (known === PENDING) {
    run.unfinished = true
    return ''
  }
  try {
    return printed(known, run)
  } catch (error) {
    throw failAt(error, at)
  }
}

/** Makes a closure that runs the parts in order and joins their output. @param nodes number of nodes in the sequence; each run is charged for all of them */
function concatenate (parts: readonly Part[], nodes: number): Render {
  // Neighbouring texts are joined here, so the output is start + renders[0] + rest[0] + renders[1] + rest[1] …
  let start = ''
  const rest: string[] = []
  const renders: Render[] = []
  for (const part of parts) {
    if (typeof part !== 'string') {
      renders.push(part)
      rest.push('')
    } else if (rest.length === 0) start += part
    else rest.push(`${rest.pop()}${part}`)
  }
  return scope => {
    const { run } = scope.rendering
    run.charge(nodes)
    let output = start
    for (let index = 0; index < renders.length; index++) output = checked(output + (renders[index] as Render)(scope) + (rest[index] as string), run)
    return output
  }
}

/** Gives a text back unless it is longer than the limit of the output. @throws RENDER_BUDGET */
function checked (text: string, run: Run): string {
  if (text.length > run.limits.output) run.checkOutput(text.length)
  return text
}
