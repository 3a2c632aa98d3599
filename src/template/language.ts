import { type RenderRun } from './run.ts'
import { type LinkedTool } from './template-function.ts'
import { type Position } from './tags.ts'
import { type LazyNode, type Value } from './value.ts'

export type Syntax = 'go' | 'handlebars'

/** A template's source, with what its compiler must know. */
export interface TemplateSource {
  readonly text: string
  /** `undefined` when the prompt declares none. */
  readonly declared?: ReadonlySet<string>
  /** Whether the text can be explained: it then reports to the run's trace, and runs only where there is one. */
  readonly explain?: boolean
}

/** Compiles a source into closures, once, and generates no code. */
export interface Language {
  readonly syntax: Syntax
  /** @throws TemplateSyntaxError with the place of the first mistake */
  compile (source: TemplateSource): Template
}

/** Has only the names of tools and partials, which are linked later, for each generation. */
export interface Template {
  readonly syntax: Syntax
  /** Names to link; each has the same index as its link in `Frame.links`. */
  readonly references: readonly Reference[]
  /** In source order, from the scope root. */
  readonly paths: readonly PathNeed[]
  /** Too large to be looked at as a whole, so `paths` may lack some. */
  readonly hasMorePaths?: boolean
  /** Can never run; in source order. */
  readonly unreachable?: readonly UnreachablePart[]
  /** Fail whenever they run; in source order. */
  readonly failing?: readonly FailingPart[]
  /** Prepares a run; the result can be called each time that the run needs the output. */
  open (run: RenderRun, frame: RunFrame): OpenTemplate
}

/**
 * Runs a template once, synchronously, and gives its text. The text is dropped when the run has noted a value that is not known yet. A template can be
 * run again while it is running.
 * @param dot the value with which the template starts as its dot (Go) or context (Handlebars): the root, or a partial's argument
 * @param before a text of the calling template, which is returned in front of the template's own text; if the two texts can hold single bytes, as Go's
 * texts can, the caller turns both into valid Unicode
 * @default none
 * @throws RenderError, or a ServiceError such as RENDER_BUDGET
 */
export type OpenTemplate = (dot: Value, before?: string) => string

export interface Reference extends Position {
  /** `maybe-function`: `{{name}}`, a tool or else a path. `maybe-partial`: need not exist, as `{{#> name}}` has a body or it may be inline. */
  readonly kind: 'function' | 'maybe-function' | 'partial' | 'maybe-partial'
  readonly name: string
  readonly arguments: readonly string[]
  /** One entry for each argument that a partial can get. */
  readonly calls?: readonly PartialCall[]
}

export interface PartialCall {
  /** From the scope root, `''` for the root itself; `undefined` when unknown. */
  readonly dot: string | undefined
  readonly isPossible?: true
  readonly named: ReadonlyArray<{ readonly name: string, readonly path: string | undefined }>
  /** Inline partials defined at the call: below it, they replace prompts of the same names. */
  readonly inlines?: ReadonlySet<string>
  readonly isConditional: boolean
}

export interface UnreachablePart extends Position {
  readonly reason: string
}

export interface FailingPart extends Position {
  readonly reason: string
}

/** `used` reaches the output or a function; `tested` may be absent; `possible` depends on another value. */
export interface PathNeed extends Position {
  /** `variables.a.b`, `vscode.rules`. A computed segment is `*`; `''` is the root, used as a whole. */
  readonly path: string
  readonly use: 'used' | 'tested' | 'possible'
  /** The index of the `maybe-function` that is meant instead if there is such a tool. */
  readonly reference?: number
}

/** The links that belong to a template's names, and the root in which its paths start. */
export interface RunFrame {
  /** In the order of the references; `undefined` only for a `maybe-…` for which nothing is registered. */
  readonly links: readonly (Link | undefined)[]
  readonly root: LazyNode
  readonly partials?: Array<EnteredPartial | undefined>
}

export type Link = LinkedTool | LinkedPartial

export interface LinkedPartial {
  readonly kind: 'partial'
  readonly id: string
  /** Compiles again if the text is no longer in the cache. */
  template (explain: boolean): Template
  readonly links: readonly (Link | undefined)[]
  /** The caller's root with the defaults of the partial's parameters. */
  root (outer: LazyNode): LazyNode
}

/** Prepared once per run, because a loop can call a partial a thousand times. */
export interface EnteredPartial {
  readonly id: string
  readonly template: Template
  readonly write: OpenTemplate
  readonly links: LinkedPartial['links']
  /** The scope root (the object in which names are looked up) inside the partial, made from `outer`, the scope root of the calling template. */
  readonly root: LazyNode
  readonly outer: LazyNode
  readonly partials: Array<EnteredPartial | undefined>
}

class PlacedError extends Error implements Position {
  readonly line: number
  readonly column: number

  constructor (message: string, at: Position) {
    super(message)
    this.line = at.line
    this.column = at.column
  }
}

/** The source of a template has a mistake. */
export class TemplateSyntaxError extends PlacedError {
  override readonly name = 'TemplateSyntaxError'
}

/** A render cannot go on: the service answers 500 `RENDER_FAILED` with the message. */
export class RenderError extends PlacedError {
  override readonly name = 'RenderError'
  readonly syntax: Syntax

  constructor (syntax: Syntax, message: string, at: Position) {
    super(message, at)
    this.syntax = syntax
  }
}

/** The root may be read by `json` and tools, but never printed as it is: nobody means that. */
export function refuseRoot (node: LazyNode, syntax: Syntax, at: Position): void {
  if (node.path !== '') return
  const json = syntax === 'go' ? '{{json .}}' : '{{json @root}}'
  throw new RenderError(syntax, `this is the root of all variables, which is no text: name one of them, or print ${json}`, at)
}

/** Of a call of `not`, `and` or `or` whose operands have these truths; `undefined` for what only a render knows. */
export function truthOfLogic (name: string | undefined, truths: ReadonlyArray<boolean | undefined>): boolean | undefined {
  switch (name) {
    case 'not': return truths[0] === undefined ? undefined : !truths[0]
    case 'and': return truths.includes(false) ? false : truths.includes(undefined) ? undefined : true
    case 'or': return truths.includes(true) ? true : truths.includes(undefined) ? undefined : false
    default: return undefined
  }
}
