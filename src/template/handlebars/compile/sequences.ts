import { type Run } from '../../run/run.ts'
import { ALONE, type Beside, type Literal } from '../../explain/piece.ts'
import { type Call, type DecoratorBlock, type Literal as LiteralNode, type Path, type Mustache, type Program, type Statement } from '../syntax/ast.ts'
import { compileBlock } from './blocks.ts'
import { callTool, compileCall, compileExpression, isCallWithoutArguments, literalName } from './calls.ts'
import { syntaxError, type Compiled, type Environment, type Use } from './environment.ts'
import { compilePartial, compilePartialBlock } from './partials.ts'
import { positionOf } from '../syntax/parse.ts'
import { compilePath, findParam, simpleName } from './paths.ts'
import { compilePrint } from './printing.ts'
import { type Inline, type Render, type Scope } from './scope.ts'
import { traceEntry, traceLiteral, tracePart, traceWriting } from './tracing.ts'
import { unlessTool } from './tracing-paths.ts'

/** A compiled sequence, and the inline partials that it defines. */
export interface Sequence { readonly render: Render, readonly inlines: readonly { readonly name: string, readonly render: Render }[] }

/**
 * Compiles a sequence of statements: the template itself, the body of a block.
 *
 * @param outside the environment around the block, for the inline partials that the sequence defines: as in the
 * package, they see what the block's own statement sees; `undefined` for the template itself
 * @param definedIn gives the scope of `outside` at run time, from the sequence's own
 */
export function compileSequence (program: Program, environment: Environment, outside: Environment | undefined, definedIn: (scope: Scope) => Scope | undefined): Sequence {
  const { collection } = environment
  const decorators = program.body.filter(statement => statement.type === 'DecoratorBlock')
  const inner = decorators.length === 0
    ? environment
    : { ...environment, inlines: new Set([...environment.inlines, ...decorators.map(inlineName)]) }

  const nodesOutside = collection.nodes
  collection.nodes = 0
  const parts = inner.explain ? compileTracedParts(program, inner) : compileParts(program, inner)
  const render = concatenate(parts, Math.max(collection.nodes, 1))
  const inlines = decorators.map(decorator => ({ name: inlineName(decorator), render: compileInline(decorator, inner, outside) }))
  collection.nodes = nodesOutside
  return { render: inlines.length === 0 ? render : withInlines(render, inlines, definedIn), inlines }
}

/** What a sequence is made of: texts, and closures for what is computed. */
type Part = string | Render

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

/** The same parts, but for closures that tell of texts: mostly what is printed tells of the texts beside it. */
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

/** Gives a text for content, a closure for what is computed, nothing for what has no output. */
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
  return environment.explain ? traceWriting(print, head.traced, at, beside) : print
}

/** Compiles `{{name}}` or `{{name …}}`: without arguments, a name is a tool if there is one, else a path. */
export function compileHead (head: Call, environment: Environment, use: Use): Compiled {
  if (head.params.length > 0 || head.hash !== undefined) return compileCall(head, environment, use)
  if (head.path.type === 'SubExpression') return compileExpression(head.path, environment, use)
  const path = head.path.type === 'PathExpression' ? head.path : literalPath(head.path)
  const name = simpleName(path)
  if (name === undefined || findParam(name, environment.params) !== undefined) return compilePath(path, environment, use)
  if (isCallWithoutArguments(name)) return compileCall(head, environment, use)
  const compiled = compilePath(path, environment, use)
  if (environment.collection.declared.has(name)) return compiled

  const at = positionOf(head.loc.start)
  const slot = environment.collection.refer('maybe-function', name, [], undefined, at)
  const { evaluate, traced } = compiled
  return {
    where: compiled.where,
    toolSlot: slot,
    evaluate: scope => scope.rendering.links[slot] === undefined ? evaluate(scope) : callTool(scope, slot, [], {}, at),
    ...(traced === undefined ? {} : { traced: unlessTool(traced, slot) })
  }
}

function literalPath (literal: LiteralNode): Path {
  const name = literalName(literal)
  return { type: 'PathExpression', data: false, depth: 0, parts: [name], original: name, loc: literal.loc }
}

/** Runs the parts in order; entering costs as many visits as there are nodes, however much of them is reached. */
function concatenate (parts: readonly Part[], nodes: number): Render {
  // Texts and closures by turns: texts[0] renders[0] texts[1] renders[1] …
  const texts = ['']
  const renders: Render[] = []
  for (const part of parts) {
    if (typeof part === 'string') texts.push(`${texts.pop()}${part}`)
    else {
      renders.push(part)
      texts.push('')
    }
  }
  return writeFew(texts, renders, nodes) ?? writeMany(texts, renders, nodes)
}

/** Sequences of up to four closures, as most are, are written out: that saves a tenth of a loop's time. */
function writeFew ([t0 = '', t1 = '', t2 = '', t3 = '', t4 = '']: readonly string[], [r0, r1, r2, r3, ...more]: readonly Render[], nodes: number): Render | undefined {
  if (more.length > 0) return undefined
  if (r0 === undefined) {
    return ({ rendering: { run } }) => {
      run.charge(nodes)
      return t0
    }
  }
  if (r1 === undefined) {
    return scope => {
      const { run } = scope.rendering
      run.charge(nodes)
      return checked(t0 + r0(scope) + t1, run)
    }
  }
  if (r2 === undefined) {
    return scope => {
      const { run } = scope.rendering
      run.charge(nodes)
      return checked(t0 + r0(scope) + t1 + r1(scope) + t2, run)
    }
  }
  if (r3 === undefined) {
    return scope => {
      const { run } = scope.rendering
      run.charge(nodes)
      return checked(t0 + r0(scope) + t1 + r1(scope) + t2 + r2(scope) + t3, run)
    }
  }
  return scope => {
    const { run } = scope.rendering
    run.charge(nodes)
    return checked((t0 + r0(scope)) + (t1 + r1(scope)) + (t2 + r2(scope)) + (t3 + r3(scope)) + t4, run)
  }
}

function writeMany ([start = '', ...rest]: readonly string[], renders: readonly Render[], nodes: number): Render {
  return scope => {
    const { run } = scope.rendering
    run.charge(nodes)
    let output = start
    for (let index = 0; index < renders.length; index++) output = checked(output + (renders[index] as Render)(scope) + (rest[index] as string), run)
    return output
  }
}

/** The text, unless it has grown beyond the limit. */
function checked (text: string, run: Run): string {
  if (text.length > run.limits.output) run.checkOutput(text.length)
  return text
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
    explain: environment.explain
  }
  const { render } = compileSequence(decorator.program, inside, outside, scope => scope.outer)
  return environment.explain ? traceEntry(render) : render
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
