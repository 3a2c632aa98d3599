import type { Json } from '../../base/json.ts'
import {
  type RunFrame, type LinkedPartial, type OpenTemplate, type PathNeed, type Reference, RenderError, type Template, type UnreachablePart
} from '../language.ts'
import type { RenderRun } from '../run.ts'
import { NOWHERE } from '../provenance.ts'
import { enterPartial, traceOf } from '../scope.ts'
import { Absent, inheritToolResult, isObject, LazyNode, memberNames, NOTHING, PENDING, type Pending, type Value } from '../value.ts'
import { type Expression, type Hash, type Partial, type PartialBlock, positionOf } from './parse.ts'
import { type CompileContext, type RawCall, type Sequence, syntaxError } from './environment.ts'
import { compileExpression, compileHash, literalName } from './calls.ts'
import { oneOf, type StaticPath } from './static-path.ts'
import { type Compiled, type Evaluator, type Inline, LoopData, observing, type PartialBody, type Render, type TemplateState, Scope } from './scope.ts'

const PARTIAL_BLOCK = '@partial-block'

/** Alone on its line, a call indents the partial's text. */
export function compilePartial (partial: Partial, environment: CompileContext): Render {
  const call = compilePartialCall(partial, environment, undefined)
  const { indent } = partial
  if (!indent) return call
  return scope => {
    const { run } = scope.rendering
    const start = run.trace?.end ?? 0
    const text = indentLines(call(scope), indent, run)
    run.trace?.rewrite(start, texts => indentTexts(texts, indent))
    return text
  }
}

/** The body is `@partial-block` in the partial, or stands in where there is none. */
export function compilePartialBlock (partial: PartialBlock, environment: CompileContext): Render {
  return compilePartialCall(partial, environment, argument => {
    // The context of the body is the partial's argument, unless the partial runs the body with another one.
    const inside: CompileContext = { ...environment, context: oneOf(argument), up: environment, depth: environment.depth + 1 }
    return environment.collection.compilers.sequence(partial.program, inside, environment, scope => scope.outer, true)
  })
}

interface Handed {
  readonly name: string
  readonly base: Value
  readonly named: Readonly<Record<string, Value>> | typeof PENDING | undefined
  readonly data: LoopData | undefined
}

function compilePartialCall (
  partial: Partial | PartialBlock, environment: CompileContext, compileBody: ((argument: StaticPath) => Sequence) | undefined
): Render {
  const name = partialName(partial)
  const at = positionOf(partial.loc.start)
  const context = compileContext(partial.params, environment)
  const evaluate = observing(context.evaluate, environment, (from, trace) => trace.hand(from))
  const { named, found } = compileNamed(partial.hash, environment)
  const body = compileBody?.(context.where)
  // Named arguments can replace members, so the context's paths are only possible ones.
  environment.collection.inlines.call(name, partial.hash === undefined ? context.where : oneOf(context.where))
  const { depth } = environment
  const inlines = body === undefined ? environment.inlines : new Set([...environment.inlines, ...body.inlines.map(inline => inline.name)])
  const slot = referTo(name, partial, environment, { argument: context.where, named: found, inlines, isConditional: depth > 0 }, body !== undefined)
  const call: Render = scope => {
    const { run } = scope.rendering
    const base = evaluate(scope)
    const handed: Handed = { name, base, named: named(scope), data: body === undefined ? scope.data : dataWith(body.render, scope) }
    run.enter(depth)
    const output = callPartial(scope, handed, slot, body)
    run.leave(depth)
    if (output === undefined) throw new RenderError('handlebars', `there is no partial "${name}"`, at)
    return output
  }
  const isPlain = slot !== undefined && body === undefined && partial.hash === undefined
  return isPlain ? callPlain(evaluate, slot, depth, call) : call
}

/** Nearly all calls are such, and are a third faster without the work for other forms. */
function callPlain (evaluate: Evaluator, slot: number, depth: number, call: Render): Render {
  return scope => {
    const { rendering } = scope
    const { run, inlines } = rendering
    if (inlines !== undefined || rendering.links[slot] === undefined) return call(scope)
    const base = evaluate(scope)
    run.enter(depth)
    const output = renderLinked(slot, rendering, base, undefined, scope.data, undefined)
    run.leave(depth)
    return output
  }
}

function referTo (name: string, partial: Partial | PartialBlock, { collection, inlines }: CompileContext, call: RawCall, hasBody: boolean): number | undefined {
  if (name === PARTIAL_BLOCK || inlines.has(name)) return undefined
  const kind = hasBody || collection.inlines.names.has(name) ? 'maybe-partial' : 'partial'
  return collection.refer(kind, name, partial.params, partial.hash, positionOf(partial.loc.start), call)
}

function partialName (partial: Partial | PartialBlock): string {
  const { name } = partial
  if (name.type === 'SubExpression') throw syntaxError('a partial is called by its name: which one it is must not depend on a value', partial)
  if (partial.params.length > 1) throw syntaxError(`a partial takes one context, not ${partial.params.length}`, partial)
  return name.type === 'PathExpression' ? name.original : literalName(name)
}

function compileContext ([param]: readonly Expression[], environment: CompileContext): Compiled {
  if (param === undefined) {
    const { context, isExplained } = environment
    return { evaluate: isExplained ? readContext : scope => scope.context, where: context }
  }
  const { evaluate, where } = compileExpression(param, environment, 'handed')
  const at = positionOf(param.loc.start)
  const consume: Evaluator = scope => {
    const context = evaluate(scope)
    // A `LazyNode` is passed on unread: members that the partial does not use are never fetched.
    return context instanceof Absent ? scope.rendering.run.miss(context, at) : context
  }
  return { evaluate: consume, where }
}

function readContext (scope: Scope): Value {
  traceOf(scope.rendering.run).read(scope.provenance ?? NOWHERE)
  return scope.context
}

function compileNamed (
  hash: Hash | undefined,
  environment: CompileContext
): { readonly named: (scope: Scope) => Handed['named']; readonly found: RawCall['named'] } {
  if (hash === undefined) return { named: () => undefined, found: [] }
  const found: Array<RawCall['named'][number]> = []
  // The package's order of assignment, which shows when a context is printed.
  const named = compileHash(hash, environment, 'from the last', ({ evaluate, where }, name) => {
    found.push({ name, where })
    return observing(evaluate, environment, (from, trace) => trace.handNamed(name, from))
  })
  return { named, found }
}

function dataWith (render: Render, scope: Scope): LoopData {
  const data = new LoopData(scope.data)
  data.body = { render, scope, outer: scope.data?.body }
  return data
}

function callPartial (scope: Scope, handed: Handed, slot: number | undefined, body: Sequence | undefined): string | undefined {
  const { rendering } = scope
  if (handed.name === PARTIAL_BLOCK) return callBody(scope, scope.data?.body ?? (body && handed.data?.body), handed)
  const inline = rendering.inlines?.get(handed.name)
  if (inline !== undefined) return callInline(inline, scope, handed)
  if (slot !== undefined && rendering.links[slot] !== undefined) {
    return renderLinked(slot, rendering, handed.base, handed.named, handed.data, inlinesWith(body, scope, rendering.inlines))
  }
  return body && callBody(scope, handed.data?.body, handed)
}

/** Inside, `@partial-block` is that of the block's own template. */
function callBody (scope: Scope, body: PartialBody | undefined, handed: Handed): string | undefined {
  if (body === undefined) return undefined
  const data = new LoopData(handed.data)
  data.body = body.outer
  const context = merge(handed.base, handed.named, scope.rendering.run)
  return writeFrom(body.scope.rendering, scope, body.render, new Scope(body.scope.rendering, context, body.scope, data, body.scope.params).keepLevel())
}

function callInline (inline: Inline, scope: Scope, handed: Handed): string {
  const context = merge(handed.base, handed.named, scope.rendering.run)
  const inner = new Scope(inline.rendering, context, inline.defined, handed.data, inline.defined?.params)
  return writeFrom(inline.rendering, scope, inline.render, inner.keepLevel())
}

function writeFrom ({ run, partial }: TemplateState, caller: Scope, render: Render, scope: Scope): string {
  run.within = partial
  scope.provenance = run.trace?.takeArgument()
  const text = render(scope)
  run.within = caller.rendering.partial
  return text
}

function renderLinked (
  slot: number,
  caller: TemplateState,
  base: Value,
  named: Handed['named'],
  data: LoopData | undefined,
  inlines: ReadonlyMap<string, Inline> | undefined
): string {
  const { run, root: outer } = caller
  const link = caller.links[slot] as LinkedPartial
  const { template, write, links, root, partials } = ((caller.partials ??= [])[slot] ??= enterPartial(run, link, outer))
  // The partial's own scope root has the defaults that it declares for variables the caller left out.
  const dot = merge(base === outer ? root : base, named, run)
  run.within = link.id
  const text =
    template instanceof HandlebarsTemplate
      ? template.renderWithin({ run, links, root, dot, isPartial: dot !== root, inlines, partials, partial: link.id }, data)
      : write(dot)
  run.within = caller.partial
  return text
}

function inlinesWith (body: Sequence | undefined, scope: Scope, inlines: ReadonlyMap<string, Inline> | undefined): ReadonlyMap<string, Inline> | undefined {
  if (body === undefined || body.inlines.length === 0) return inlines
  const more = new Map(inlines)
  for (const { name, render } of body.inlines) more.set(name, { render, defined: scope, rendering: scope.rendering })
  return more
}

/** A context with named arguments added; pending as a whole when either is. */
function merge (base: Value, named: Handed['named'], run: RenderRun): Value {
  if (named === undefined) return base
  if (named === PENDING || base === PENDING) return PENDING
  const members = named as Readonly<Record<string, Value>>
  if (base instanceof LazyNode) return new MergedContext(base, members)
  const isContainer = typeof base === 'object' && base !== null && base !== NOTHING
  const spread: object = isContainer || typeof base === 'string' ? Object(base) as object : {}
  run.charge(memberNames(spread).length)
  const merged = { ...spread, ...members }
  if (typeof base === 'object' && base !== null) inheritToolResult(merged, base)
  return merged
}

function indentLines (text: string, indent: string, run: RenderRun): string {
  const lines = text.split('\n')
  run.charge(lines.length)
  const last = lines.length - 1
  const count = lines[last] === '' ? last : lines.length
  run.checkOutput(text.length + count * indent.length)
  return lines.map((line, index) => index < count ? indent + line : line).join('\n')
}

/** Except an empty last line. Indentation goes to the piece in which the line begins. */
export function indentTexts (pieces: readonly string[], indent: string): string[] {
  let isLineStart = true
  return pieces.map(piece => {
    if (piece === '') return piece
    const start = isLineStart ? indent : ''
    isLineStart = piece.endsWith('\n')
    return start + piece.replace(/\n(?=[^])/g, `\n${indent}`)
  })
}

/** A lazy context (it is read only when it is used) with named arguments added: `{{> header title="x"}}` when the context is the scope root. */
export class MergedContext extends LazyNode {
  readonly path: string
  readonly #base: LazyNode
  readonly #named: Readonly<Record<string, Value>>

  constructor (base: LazyNode, named: Readonly<Record<string, Value>>) {
    super()
    this.path = base.path
    this.#base = base
    this.#named = named
  }

  field (name: string): Value {
    return Object.hasOwn(this.#named, name) ? this.#named[name] as Value : this.#base.field(name)
  }

  keys (): readonly string[] | Pending {
    const keys = this.#base.keys()
    return keys === PENDING ? PENDING : [...new Set([...keys as readonly string[], ...Object.keys(this.#named)])].sort()
  }

  read (): Json | Pending {
    const base = this.#base.read()
    if (base === PENDING) return PENDING
    return { ...isObject(base) ? base : {}, ...this.#named } as Json
  }
}

export class HandlebarsTemplate implements Template {
  readonly syntax = 'handlebars'
  readonly references: readonly Reference[]
  readonly paths: readonly PathNeed[]
  readonly hasMorePaths: boolean
  readonly unreachable: readonly UnreachablePart[]
  readonly #render: Render

  constructor (
    { references, paths, hasMorePaths, unreachable }: Pick<HandlebarsTemplate, 'references' | 'paths' | 'hasMorePaths' | 'unreachable'>,
    render: Render
  ) {
    this.references = references
    this.paths = paths
    this.hasMorePaths = hasMorePaths
    this.unreachable = unreachable
    this.#render = render
  }

  open (run: RenderRun, { links, root, partials }: RunFrame): OpenTemplate {
    return (dot, before = '') =>
      before + this.renderWithin({ run, links, root, dot, isPartial: dot !== root, inlines: undefined, partials, partial: run.within }, undefined)
  }

  renderWithin (rendering: TemplateState, data: LoopData | undefined): string {
    const scope = new Scope(rendering, rendering.dot, undefined, data, undefined)
    scope.provenance = rendering.run.trace?.takeArgument()
    return this.#render(scope)
  }
}
