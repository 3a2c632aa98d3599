import { type Call, type DecoratorBlock, type Literal, type Path, type Mustache, type Program, type Statement } from './ast.ts'
import { compileBlock } from './blocks.ts'
import { callTool, compileCall, compileExpression, isCallWithoutArguments, literalName } from './calls.ts'
import { syntaxError, type Compiled, type Environment, type Use } from './environment.ts'
import { compilePartial, compilePartialBlock } from './partials.ts'
import { positionOf } from './parse.ts'
import { compilePath, findParam, simpleName } from './paths.ts'
import { compilePrint } from './printing.ts'
import { type Inline, type Render, type Scope } from './scope.ts'
import { traceEntry, tracePart, traceWriting } from './tracing.ts'

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
  const parts: (string | Render)[] = []
  for (const statement of program.body) {
    const part = compileStatement(statement, inner)
    if (part === undefined) continue
    collection.nodes++
    parts.push(collection.explain ? tracePart(part, statement) : part)
  }
  const render = concatenate(parts, Math.max(collection.nodes, 1))
  const inlines = decorators.map(decorator => ({ name: inlineName(decorator), render: compileInline(decorator, inner, outside) }))
  collection.nodes = nodesOutside
  return { render: inlines.length === 0 ? render : withInlines(render, inlines, definedIn), inlines }
}

/** Gives a text for content, a closure for what is computed, nothing for what has no output. */
function compileStatement (statement: Statement, environment: Environment): string | Render | undefined {
  switch (statement.type) {
    case 'ContentStatement': return statement.value === '' ? undefined : statement.value
    case 'CommentStatement': return undefined
    case 'MustacheStatement': return compileMustache(statement, environment)
    case 'BlockStatement': return compileBlock(statement, environment)
    case 'PartialStatement': return compilePartial(statement, environment)
    case 'PartialBlockStatement': return compilePartialBlock(statement, environment)
    case 'DecoratorBlock': return undefined
    case 'Decorator': throw syntaxError('decorators other than {{#*inline "name"}} are not available', statement)
  }
}

function compileMustache (mustache: Mustache, environment: Environment): Render {
  const at = positionOf(mustache.loc.start)
  const print = compilePrint(compileHead(mustache, environment, 'used').evaluate, at)
  return environment.collection.explain ? traceWriting(print, at) : print
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
  const { evaluate } = compiled
  return {
    path: compiled.path,
    toolSlot: slot,
    evaluate: scope => scope.rendering.links[slot] === undefined ? evaluate(scope) : callTool(scope, slot, [], {}, at)
  }
}

function literalPath (literal: Literal): Path {
  const name = literalName(literal)
  return { type: 'PathExpression', data: false, depth: 0, parts: [name], original: name, loc: literal.loc }
}

/** Runs the parts in order; entering costs as many visits as there are nodes, however much of them is reached. */
function concatenate (parts: readonly (string | Render)[], nodes: number): Render {
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
  const [start = ''] = texts
  const rest = texts.slice(1)
  return scope => {
    const { run } = scope.rendering
    run.charge(nodes)
    const limit = run.limits.output
    let output = start
    for (let index = 0; index < renders.length; index++) {
      output += (renders[index] as Render)(scope) + (rest[index] as string)
      if (output.length > limit) run.checkOutput(output.length)
    }
    return output
  }
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

// Nothing is known of the context that an inline partial will be called with.
function compileInline (decorator: DecoratorBlock, environment: Environment, outside: Environment | undefined): Render {
  const inside: Environment = {
    collection: environment.collection,
    contextPath: undefined,
    up: outside,
    params: outside?.params,
    inlines: environment.inlines,
    depth: environment.depth + 1
  }
  const { render } = compileSequence(decorator.program, inside, outside, scope => scope.outer)
  return environment.collection.explain ? traceEntry(render) : render
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
