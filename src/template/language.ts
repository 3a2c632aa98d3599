import { type Run } from './run/run.ts'
import { type LinkedTool } from './run/tool-call.ts'
import { type Position } from './position.ts'
import { type LazyNode, type Value } from './value.ts'

/** The template languages. Both are first class. */
export type Syntax = 'go' | 'handlebars'

/** What a language compiles. */
export interface TemplateSource {
  readonly text: string
  /** Names of the parameters that the prompt declares; `undefined` when it declares none. */
  readonly declared?: ReadonlySet<string>
  /**
   * Compiles the template to be explained. Such a template tells the run's trace what it reads and writes, and runs only
   * where there is a trace.
   */
  readonly explain?: boolean
}

/** A template language: turns a source into closures, once; no code generation. */
export interface Language {
  readonly syntax: Syntax
  /** @throws TemplateSyntaxError with the place of the first mistake. */
  compile (source: TemplateSource): Template
}

/** A compiled template. It knows names, not what they stand for: that is linked per generation. */
export interface Template {
  readonly syntax: Syntax
  /** Names that something registered must answer to; a reference's index is its slot in `Frame.links`. */
  readonly references: readonly Reference[]
  /** Paths that the template reads from the scope root, in source order. */
  readonly paths: readonly PathNeed[]
  /** Whether it may read more than those, since there was too much to look at all of it. */
  readonly hasMorePaths?: boolean
  /** Parts that can never run, in source order. */
  readonly unreachable?: readonly UnreachablePart[]
  /** Parts that fail whenever they run, in source order. */
  readonly failing?: readonly FailingPart[]
  /** Opens the template for a run, once for all the times that it is written there. */
  open (run: Run, frame: Frame): OpenTemplate
}

/**
 * Writes a template once, synchronously, and gives its text. The text is thrown away while the run has noted anything. A
 * template may be written while it is being written.
 * @param dot the dot or context that the template starts with: the root, or a partial's argument
 * @param before a text of the caller, which comes back in front of the template's text; where bytes are written, the caller
 * makes both Unicode @default none
 * @throws RenderError, or a ServiceError such as RENDER_BUDGET
 */
export type OpenTemplate = (dot: Value, before?: string) => string

/** A name that is resolved when a generation is linked. */
export interface Reference extends Position {
  /**
   * `function`: must be a tool. `maybe-function`: Handlebars `{{name}}`, a tool if there is one, else a path.
   * `partial`: must be a prompt. `maybe-partial`: Handlebars `{{#> name}}…{{/name}}`, whose body stands in for it, or
   * a name that an inline partial may answer to.
   */
  readonly kind: 'function' | 'maybe-function' | 'partial' | 'maybe-partial'
  readonly name: string
  /** The argument expressions as written. */
  readonly arguments: readonly string[]
  /** How a partial is called: once for each argument that it may have; functions have none. */
  readonly calls?: readonly PartialCall[]
}

/** What is known of a partial's call without running it. */
export interface PartialCall {
  /** The path from the scope root of the argument, `''` for the root itself. `undefined` when the path cannot be known. */
  readonly dot: string | undefined
  /** It depends on a value whether it is called with this. */
  readonly isPossible?: true
  /** What its named arguments put into the context, each with its path where that is known. */
  readonly named: ReadonlyArray<{ readonly name: string, readonly path: string | undefined }>
  /** Names of inline partials that stand in for the prompts of these names, in what is called too. */
  readonly inlines?: ReadonlySet<string>
  /** Whether a block lies around it, so that it may not be made. */
  readonly isConditional: boolean
}

/** Where a part of a template begins that can never run, and why. */
export interface UnreachablePart extends Position {
  readonly reason: string
}

/** Where a part of a template begins that fails whenever it runs, and why. */
export interface FailingPart extends Position {
  readonly reason: string
}

/**
 * A path read by a template. `used`: its value reaches the output or a function. `tested`: it may be absent. `possible`: it
 * depends on a value which path it is.
 */
export interface PathNeed extends Position {
  /** From the scope root, `variables.a.b`, `vscode.rules`; a dynamic segment is `*`, and `''` is the root, used as a whole. */
  readonly path: string
  readonly use: 'used' | 'tested' | 'possible'
}

/** Where a template runs: what its names stand for, and what its paths start from. */
export interface Frame {
  /** One link per reference of the template, in its order; `undefined` only for a `maybe-…` that nothing answers to. */
  readonly links: readonly (Link | undefined)[]
  /** The scope root: `variables`, `caller`, the environ modules. */
  readonly root: LazyNode
  /** For a partial: those that it has entered before in this run, by the slots of its links. */
  readonly partials?: Array<EnteredPartial | undefined>
}

/** What a reference stands for in one generation. */
export type Link = LinkedTool | LinkedPartial

/** A prompt with one text, used as a partial. */
export interface LinkedPartial {
  readonly kind: 'partial'
  readonly id: string
  /** The compiled text, to be explained or not; through a cache, so it may compile again. */
  template (explain: boolean): Template
  readonly links: readonly (Link | undefined)[]
  /** The scope root inside the partial: the outer one, with the partial's parameter defaults below its variables. */
  root (outer: LazyNode): LazyNode
}

/** A partial as one run enters it. */
export interface EnteredPartial {
  readonly id: string
  readonly template: Template
  readonly write: OpenTemplate
  readonly links: LinkedPartial['links']
  /** The scope root inside it, made from `outer`. */
  readonly root: LazyNode
  readonly outer: LazyNode
  /** The partials that it has entered in its turn, by the slots of its own links. */
  readonly partials: Array<EnteredPartial | undefined>
}

/** An error at a place in a template's source. */
class PlacedError extends Error implements Position {
  readonly line: number
  readonly column: number

  constructor (message: string, at: Position) {
    super(message)
    this.line = at.line
    this.column = at.column
  }
}

/** A mistake in a template's source. */
export class TemplateSyntaxError extends PlacedError {
  override readonly name = 'TemplateSyntaxError'
}

/** A render that cannot go on, such as an index out of range: 500 `RENDER_FAILED` with this text. */
export class RenderError extends PlacedError {
  override readonly name = 'RenderError'
  /** What the text at that place is written in. */
  readonly syntax: Syntax

  constructor (syntax: Syntax, message: string, at: Position) {
    super(message, at)
    this.syntax = syntax
  }
}
