import { printed } from '../template-function.ts'
import { type Language, refuseRoot, type TemplateSource, truthOfLogic, type UnreachablePart } from '../language.ts'
import type { Position } from '../tags.ts'
import type { RenderRun } from '../run.ts'
import { traceOf } from '../scope.ts'
import { prescan } from '../prescan.ts'
import { LazyNode, PENDING, type Value } from '../value.ts'
import { compileExpression, compileHead, literalName } from './calls.ts'
import { compileBlock } from './blocks.ts'
import { Collection, type CompileContext, failAt, type Sequence, syntaxError } from './environment.ts'
import { InlineContexts, ROOT } from './static-path.ts'
import { compilePartial, compilePartialBlock, HandlebarsTemplate } from './partials.ts'
import { simpleName } from './paths.ts'
import type { Evaluator, Inline, Render, Scope } from './scope.ts'
import {
  type Block, type Content, type DecoratorBlock, type Expression, type Mustache, parse, positionOf, type Program, type ProgramStatement
} from './parse.ts'

const NONE: ReadonlySet<string> = new Set()

/**
 * Handlebars, as the handlebars package defines it, with the functions of this service in place of custom helpers.
 * The package parses; the tree becomes closures here, so that no template ever becomes JavaScript source.
 *
 * It differs on purpose in this (the tests keep the list, with an example each):
 * - nothing is escaped, objects and lists print as JSON, numbers that stand side by side are not added;
 * - own members only: lists have no `length` (there is `len`), texts have no members at all;
 * - a member of null, 0 or false is absent; null stays null as a context;
 * - an absent value that is printed or passed on is an error (a missing value), and not the empty text;
 * - a call of a function or tool as a block is a block over the result;
 * - a condition `@partial-block` is true where there is such a block;
 * - refused when the template is loaded: `{{log}}`, decorators other than `{{#*inline}}`, partials chosen by a value,
 *   arguments and block parameters that nothing reads;
 * - when a partial runs within itself, each of its runs has its own inline partials;
 * - `{{{{raw}}}}` gives its body as it is written;
 * - `helperMissing` and `blockHelperMissing` are names like any other.
 */
export const handlebarsLanguage: Language = {
  syntax: 'handlebars',
  compile: compileHandlebars
}

function compileHandlebars ({ text, declared, explain = false }: TemplateSource): HandlebarsTemplate {
  prescan(text)
  const program = parse(text)
  const inlines = new InlineContexts(inlineNames(program))
  const collection = new Collection(text, declared ?? NONE, inlines, { expression: compileExpression, sequence: compileSequence })
  const environment: CompileContext = { collection, context: ROOT, up: undefined, params: undefined, inlines: NONE, depth: 0, isExplained: explain }
  const { render } = compileSequence(program, environment, undefined, () => undefined)
  const [references, paths] = [collection.references(), collection.paths()]
  return new HandlebarsTemplate({ references, paths, hasMorePaths: collection.hasMorePaths, unreachable: findUnreachable(program) }, render)
}

function inlineNames (program: Program | undefined): string[] {
  return program === undefined ? [] : program.body.flatMap(inlineNamesIn)
}

function inlineNamesIn (statement: ProgramStatement): string[] {
  switch (statement.type) {
    case 'DecoratorBlock': return [inlineName(statement), ...inlineNames(statement.program)]
    case 'BlockStatement': return [...inlineNames(statement.program), ...inlineNames(statement.inverse)]
    case 'PartialBlockStatement': return inlineNames(statement.program)
    default: return []
  }
}

function findUnreachable (program: Program | undefined): UnreachablePart[] {
  return (program?.body ?? []).flatMap(inStatement)
}

function inStatement (statement: ProgramStatement): UnreachablePart[] {
  switch (statement.type) {
    case 'BlockStatement': return inBlock(statement)
    case 'PartialBlockStatement':
    case 'DecoratorBlock': return findUnreachable(statement.program)
    default: return []
  }
}

function inBlock (block: Block): UnreachablePart[] {
  const { program, inverse } = block
  const truth = truthOfBlock(block)
  return [
    ...truth === false ? beginning(program, truth) : findUnreachable(program),
    ...truth === true ? beginning(inverse, truth) : findUnreachable(inverse)
  ]
}

function beginning (program: Program | undefined, truth: boolean): UnreachablePart[] {
  const first = program?.body.find(
    statement => statement.type !== 'CommentStatement' && !(statement.type === 'ContentStatement' && statement.value.trim() === '')
  )
  return first === undefined ? [] : [{ reason: `the condition is always ${String(truth)}`, ...positionOf(first.loc.start) }]
}

function truthOfBlock ({ path, params, hash }: Block): boolean | undefined {
  const [param] = params
  if (path.type !== 'PathExpression' || param === undefined || hash !== undefined) return undefined
  const truth = truthOf(param)
  switch (simpleName(path)) {
    case 'if': return truth
    case 'unless': return truth === undefined ? undefined : !truth
    // Unlike for "if", 0 is not empty.
    case 'with': return param.type === 'NumberLiteral' ? true : truth
    case 'each': return 'value' in param ? false : undefined
    default: return undefined
  }
}

function truthOf (expression: Expression): boolean | undefined {
  switch (expression.type) {
    case 'BooleanLiteral':
    case 'NumberLiteral':
    case 'StringLiteral': return Boolean(expression.value)
    case 'NullLiteral':
    case 'UndefinedLiteral': return false
    case 'SubExpression': {
      const { path, params } = expression
      return path.type === 'PathExpression' ? truthOfLogic(simpleName(path), params.map(truthOf)) : undefined
    }
    default: return undefined
  }
}

type SequencePart = string | Render

function compileSequence (
  program: Program,
  environment: CompileContext,
  outside: CompileContext | undefined,
  definedIn: (scope: Scope) => Scope | undefined,
  isHanded = false
): Sequence {
  const { collection } = environment
  const decorators = program.body.filter(statement => statement.type === 'DecoratorBlock')
  const inner = decorators.length === 0 ? environment : { ...environment, inlines: new Set([...environment.inlines, ...decorators.map(inlineName)]) }

  const nodesOutside = collection.nodes
  collection.nodes = 0
  const parts = compileParts(program, inner)
  const render = concatenate(parts, Math.max(collection.nodes, 1))
  const inForce = isHanded ? environment : inner
  const inlines = decorators.map(decorator => ({ name: inlineName(decorator), render: compileInline(decorator, inForce, outside) }))
  collection.nodes = nodesOutside
  return { render: inlines.length === 0 ? render : withInlines(render, inlines, definedIn), inlines }
}

function compileParts (program: Program, environment: CompileContext): SequencePart[] {
  const parts: SequencePart[] = []
  for (const statement of program.body) {
    const part = compileStatement(statement, environment)
    if (part === undefined) continue
    environment.collection.nodes++
    parts.push(part)
  }
  return parts
}

function compileStatement (statement: ProgramStatement, environment: CompileContext): SequencePart | undefined {
  switch (statement.type) {
    case 'ContentStatement': return statement.value === '' ? undefined : environment.isExplained ? printingLiteral(statement) : statement.value
    case 'CommentStatement': return undefined
    case 'MustacheStatement': return compileMustache(statement, environment)
    case 'BlockStatement': return environment.isExplained ? forgetting(compileBlock(statement, environment)) : compileBlock(statement, environment)
    case 'PartialStatement': return compilePartial(statement, environment)
    case 'PartialBlockStatement': return compilePartialBlock(statement, environment)
    case 'DecoratorBlock': return undefined
    case 'Decorator': throw syntaxError('decorators other than {{#*inline "name"}} are not available', statement)
  }
}

function printingLiteral ({ value, loc }: Content): Render {
  const literal = { text: value, ...positionOf(loc.start) }
  return ({ rendering: { run } }) => {
    traceOf(run).printLiteral(literal, run.within)
    return value
  }
}

/** Drops what a block leaves in the trace: values that it tested, and the names of what it went over. */
function forgetting (render: Render): Render {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const text = render(scope)
    trace.drop(mark)
    return text
  }
}

function compileMustache (mustache: Mustache, environment: CompileContext): Render {
  const at = positionOf(mustache.loc.start)
  const { evaluate } = compileHead(mustache, environment, 'used')
  const print = compilePrint(evaluate, at)
  if (!environment.isExplained) return print
  return scope => {
    const { run } = scope.rendering
    const trace = traceOf(run)
    const { mark } = trace
    const text = print(scope)
    trace.print(text, at, trace.take(mark), run.within)
    return text
  }
}

/** @throws TemplateSyntaxError for any other decorator */
function inlineName (decorator: DecoratorBlock): string {
  const isInline = decorator.path.type === 'PathExpression' && decorator.path.original === 'inline'
  if (!isInline) throw syntaxError('decorators other than {{#*inline "name"}} are not available', decorator)
  const [name] = decorator.params
  const isLiteral = name !== undefined && name.type !== 'PathExpression' && name.type !== 'SubExpression'
  if (!isLiteral || decorator.params.length > 1) throw syntaxError('an inline partial needs one name, in quotes: {{#*inline "name"}}', decorator)
  return literalName(name)
}

function compileInline (decorator: DecoratorBlock, environment: CompileContext, outside: CompileContext | undefined): Render {
  const inside: CompileContext = {
    collection: environment.collection,
    context: environment.collection.inlines.standIn(inlineName(decorator)),
    up: outside,
    params: outside?.params,
    inlines: environment.inlines,
    depth: environment.depth + 1,
    isExplained: environment.isExplained
  }
  return compileSequence(decorator.program, inside, outside, scope => scope.outer).render
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

/** Never escaped; objects and lists as JSON, null and `NOTHING` as the empty text. */
function compilePrint (evaluate: Evaluator, at: Position): Render {
  return scope => {
    const value = evaluate(scope)
    if (typeof value === 'string') return value
    return typeof value === 'number' ? `${value}` : printOther(value, scope.rendering.run, at)
  }
}

function printOther (value: Value, run: RenderRun, at: Position): string {
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

function concatenate (parts: readonly SequencePart[], nodes: number): Render {
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

/** @throws RENDER_BUDGET */
function checked (text: string, run: RenderRun): string {
  if (text.length > run.limits.output) run.checkOutput(text.length)
  return text
}
