import { type Run } from './run.ts'
import { type LinkedTool } from './template-function.ts'
import { type Position } from './tags.ts'
import { type LazyNode, type Value } from './value.ts'

/** The two template languages. Neither is preferred. */
export type Syntax = 'go' | 'handlebars'

/** The source of a template, with what its compiler must know. */
export interface TemplateSource {
  readonly text: string
  /** Names of the parameters that the prompt declares; `undefined` when it declares none. */
  readonly declared?: ReadonlySet<string>
  /**
   * Whether to compile the template so that it can be explained (which value each piece of its output came from). Such a template reports to the
   * run's trace what it reads and writes, and can run only where there is a trace.
   */
  readonly explain?: boolean
}

/** A template language. It compiles a source into closures, once, and generates no code. */
export interface Language {
  readonly syntax: Syntax
  /** Compiles a template. @throws TemplateSyntaxError with the place of the first mistake */
  compile (source: TemplateSource): Template
}

/**
 * A compiled template. It has only the names of tools and partials. The tools and partials themselves are linked to it later, for each generation (a
 * snapshot of all registered entries).
 */
export interface Template {
  readonly syntax: Syntax
  /** The names in the template that must be linked to a registered tool or prompt. Each has the same index here as its link has in `Frame.links`. */
  readonly references: readonly Reference[]
  /** The paths that the template reads from the scope root (the object of all names that a template can use), in source order. */
  readonly paths: readonly PathNeed[]
  /** Whether the template perhaps reads more paths than those in `paths`, because it was too large to be looked at as a whole. */
  readonly hasMorePaths?: boolean
  /** The parts of the template that can never run, in source order. */
  readonly unreachable?: readonly UnreachablePart[]
  /** The parts of the template that fail whenever they run, in source order. */
  readonly failing?: readonly FailingPart[]
  /** Prepares the template for a run (one render of a prompt). The result can be called each time that the run needs the template's output. */
  open (run: Run, frame: Frame): OpenTemplate
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

/** A name in a template that is linked to a tool or a prompt when a generation (a snapshot of all registered entries) is made. */
export interface Reference extends Position {
  /**
   * The possible meaning of the name. `function`: a tool, which must exist. `maybe-function`: in Handlebars' `{{name}}`, a tool if there is one,
   * otherwise a path. `partial`: a prompt, which must exist. `maybe-partial`: in Handlebars, a prompt that need not exist, because the block `{{#>
   * name}}…{{/name}}` has a body to use instead, or because an inline partial perhaps has that name.
   */
  readonly kind: 'function' | 'maybe-function' | 'partial' | 'maybe-partial'
  readonly name: string
  /** The expressions of the arguments, as they are written. */
  readonly arguments: readonly string[]
  /** How a partial is called: one entry for each argument that it can get. Functions have none. */
  readonly calls?: readonly PartialCall[]
}

/** The call of a partial, as far as it is known without running the template. */
export interface PartialCall {
  /**
   * The path of the argument from the scope root (the object in which names are looked up), `''` for the root itself; `undefined` when the path cannot
   * be known.
   */
  readonly dot: string | undefined
  /** Set when it depends on a value whether the partial is called with this argument. */
  readonly isPossible?: true
  /** The named arguments of the call, each with its path where that is known. */
  readonly named: ReadonlyArray<{ readonly name: string, readonly path: string | undefined }>
  /**
   * The names of the inline partials that are defined at the call. In the partial that is called, and in all that it calls, they replace prompts of the
   * same names.
   */
  readonly inlines?: ReadonlySet<string>
  /** Whether a block lies around the call, so that the call is perhaps not made. */
  readonly isConditional: boolean
}

/** The beginning of a part of a template that can never run, and the reason. */
export interface UnreachablePart extends Position {
  readonly reason: string
}

/** The beginning of a part of a template that fails whenever it runs, and the reason. */
export interface FailingPart extends Position {
  readonly reason: string
}

/**
 * A path that a template reads. `used`: the path's value reaches the output or a function. `tested`: the value is allowed to be absent. `possible`:
 * whether this path is read depends on another value.
 */
export interface PathNeed extends Position {
  /** The path from the scope root: `variables.a.b`, `vscode.rules`. A segment that is computed is `*`, and `''` is the root, used as a whole. */
  readonly path: string
  readonly use: 'used' | 'tested' | 'possible'
}

/** What a template needs to run: the tools and partials that belong to its names, and the object in which its paths start. */
export interface Frame {
  /** One link for each reference of the template, in the same order; `undefined` only for a `maybe-…` reference for which nothing is registered. */
  readonly links: readonly (Link | undefined)[]
  /** The scope root, in which the template's names are looked up: `variables`, `caller`, the modules of shared variables. */
  readonly root: LazyNode
  /** The partials that this partial has already called in the run, by their index in `links`; only a partial has them. */
  readonly partials?: Array<EnteredPartial | undefined>
}

/** The tool or partial to which a reference of a template is linked in one generation (a snapshot of all registered entries). */
export type Link = LinkedTool | LinkedPartial

/** A prompt with one text, which other templates include as a partial. */
export interface LinkedPartial {
  readonly kind: 'partial'
  readonly id: string
  /**
   * Gives the compiled text, in the form that can be explained or in the plain one. A text that is no longer in the cache of compiled texts is compiled
   * again.
   */
  template (explain: boolean): Template
  readonly links: readonly (Link | undefined)[]
  /**
   * Makes the scope root (the object in which names are looked up) for the partial: the root `outer` of the calling template, with the defaults of the
   * partial's parameters for variables that are missing.
   */
  root (outer: LazyNode): LazyNode
}

/** A partial (a prompt that another one includes), prepared for one run. It is kept, because a loop can call a partial a thousand times. */
export interface EnteredPartial {
  readonly id: string
  readonly template: Template
  readonly write: OpenTemplate
  readonly links: LinkedPartial['links']
  /** The scope root (the object in which names are looked up) inside the partial, made from `outer`, the scope root of the calling template. */
  readonly root: LazyNode
  readonly outer: LazyNode
  /** The partials that this partial itself has already called, by their index in `links`. */
  readonly partials: Array<EnteredPartial | undefined>
}

/** An error at a place in the source of a template. */
class PlacedError extends Error implements Position {
  readonly line: number
  readonly column: number

  constructor (message: string, at: Position) {
    super(message)
    this.line = at.line
    this.column = at.column
  }
}

/** Thrown when the source of a template has a mistake. */
export class TemplateSyntaxError extends PlacedError {
  override readonly name = 'TemplateSyntaxError'
}

/** Thrown when a render cannot go on, for example because an index is out of range. The service answers 500 `RENDER_FAILED` with the error's message. */
export class RenderError extends PlacedError {
  override readonly name = 'RenderError'
  /** The language of the text in which the error happened. */
  readonly syntax: Syntax

  constructor (syntax: Syntax, message: string, at: Position) {
    super(message, at)
    this.syntax = syntax
  }
}

/** The scope root, with all variables and shared variables, is read by `json` and by tools. It is never printed as it is: nobody means that. */
export function refuseRoot (node: LazyNode, syntax: Syntax, at: Position): void {
  if (node.path !== '') return
  const json = syntax === 'go' ? '{{json .}}' : '{{json @root}}'
  throw new RenderError(syntax, `this is the root of all variables, which is no text: name one of them, or print ${json}`, at)
}
