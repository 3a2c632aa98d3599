import { type PartialCall, type PathNeed, type Reference, RenderError, TemplateSyntaxError } from '../language.ts'
import type { Position } from '../tags.ts'
import { FunctionError } from '../template-function.ts'
import { type Expression, type Hash, type Place, positionOf, type Program } from './parse.ts'
import { type InlineContexts, solePath, type StaticPath, UNKNOWN } from './static-path.ts'
import type { Compiled, Render, Scope } from './scope.ts'
import type { Tracing } from './tracing.ts'

/** The most paths that one template lists for values that can be at several places: a few times the greatest number of tags. */
const MAX_OF_SEVERAL = 10_000

/** What is known about the call of a partial while the contexts of the inline partials around the call are not known yet. */
export interface RawCall {
  readonly argument: StaticPath
  readonly named: ReadonlyArray<{ readonly name: string, readonly where: StaticPath }>
  readonly inlines: ReadonlySet<string>
  readonly isConditional: boolean
}

/** What the compiler finds out about a whole template: its references (the tools and partials that it names), and the paths that it reads. */
export class Collection {
  readonly declared: ReadonlySet<string>
  readonly inlines: InlineContexts
  readonly compilers: Compilers
  /** Whether the template reads more paths than are listed. */
  hasMorePaths = false
  #left = MAX_OF_SEVERAL
  /** The number of nodes compiled since the innermost sequence began. It is the cost of running the sequence once, in visits (units of a render's work). */
  nodes = 0
  readonly #text: string
  #lines: readonly string[] | undefined
  readonly #references: Array<Omit<Reference, 'calls'> & { readonly call: RawCall | undefined }> = []
  readonly #needs: Array<{ readonly where: StaticPath, readonly use: Exclude<Use, 'descended'>, readonly at: Position }> = []

  constructor (text: string, declared: ReadonlySet<string>, inlines: InlineContexts, compilers: Compilers) {
    this.#text = text
    this.declared = declared
    this.inlines = inlines
    this.compilers = compilers
  }

  /** Adds a reference to a tool or partial, and gives its index. */
  refer (kind: Reference['kind'], name: string, params: readonly Expression[], hash: Hash | undefined, { line, column }: Position, call?: RawCall): number {
    const written = [...params, ...hash?.pairs ?? []].map(node => this.source(node.loc))
    return this.#references.push({ kind, name, arguments: written, call, line, column }) - 1
  }

  /** Notes that the template reads a value, with the paths at which the value is found. */
  need (where: StaticPath, use: Use, at: Position): void {
    if (use !== 'descended') this.#needs.push({ where, use, at })
  }

  /** The references of the template, in the order of their indexes. */
  references (): Reference[] {
    return this.#references.map(({ call, ...reference }) => call === undefined ? reference : { ...reference, calls: this.#resolveCall(call) })
  }

  #resolveCall ({ argument, named, ...rest }: RawCall): PartialCall[] {
    const { certain, possible } = this.#resolve(argument)
    const common = { ...rest, named: named.map(({ name, where }) => ({ name, path: solePath(this.inlines.resolve(where)) })) }
    // The scope root itself is left out. Where the argument is only possibly the root, a name in the partial can belong to the root or to another value.
    const members = possible.filter(path => path !== '')
    return [
      ...(certain.length === 0 ? [undefined] : certain).map(dot => ({ ...common, dot })),
      ...members.map((dot): PartialCall => ({ ...common, dot, isPossible: true }))
    ]
  }

  /** The paths that the template reads, in source order. The scope root (the object with all variables) is listed only where it is used as a whole. */
  paths (): PathNeed[] {
    const paths: PathNeed[] = []
    for (const { where, use, at: { line, column } } of this.#needs) {
      const { certain, possible } = this.#resolve(where)
      for (const path of certain) if (path !== '' || use === 'used') paths.push({ path, use: use === 'handed' ? 'used' : use, line, column })
      for (const path of possible) if (path !== '') paths.push({ path, use: 'possible', line, column })
    }
    // The paths are sorted here, because the bodies of inline partials are compiled after the statements that follow them.
    return this.inlines.names.size === 0 ? paths : paths.sort((one, other) => one.line - other.line || one.column - other.column)
  }

  /**
   * The paths at which a value is found. Marks (see `InlineContexts`) are replaced by the paths of the calls. `UNKNOWN`, when too many paths are
   * listed already.
   */
  #resolve (where: StaticPath): StaticPath {
    if (solePath(where) !== undefined) return where
    if (this.#left <= 0) {
      this.hasMorePaths = true
      return UNKNOWN
    }
    const found = this.inlines.resolve(where)
    this.#left -= found.certain.length + found.possible.length
    return found
  }

  /** The source text between two places of the syntax tree. */
  source ({ start, end }: { readonly start: Place, readonly end: Place }): string {
    this.#lines ??= this.#text.split(/\r\n?|\n/)
    const lines = this.#lines.slice(start.line - 1, end.line)
    if (lines.length === 0) return ''
    lines.push((lines.pop() as string).slice(0, end.column))
    lines[0] = (lines[0] as string).slice(start.column)
    return lines.join('\n')
  }
}

/**
 * How a template uses an expression's value. `used`: in full. `tested`: the value is allowed to be absent. `descended`: only a member of the value is
 * read, and the member is noted instead. `handed`: the value is the argument of a partial; if it is the scope root, that is not yet a use of the whole
 * root.
 */
export type Use = 'used' | 'tested' | 'descended' | 'handed'

/** The block parameters that can be used at a place, with the paths at which their values are found. */
export interface ParamNames {
  readonly names: readonly string[]
  readonly values: readonly StaticPath[]
  readonly outer: ParamNames | undefined
}

/** The surroundings of a statement, as they are known when it is compiled. */
export interface Environment {
  readonly collection: Collection
  readonly context: StaticPath
  /** The environment of the context to which `../` leads. */
  readonly up: Environment | undefined
  readonly params: ParamNames | undefined
  /** The names of the inline partials that are certainly defined here. */
  readonly inlines: ReadonlySet<string>
  /** The number of blocks around this place, in this template. */
  readonly depth: number
  /** Wraps the closures of a template that is explained, so that they report to the trace. Conditions are not wrapped, because no output comes from them. */
  readonly tracing: Tracing
}

/** A compiled sequence of statements, with the inline partials that it defines. */
export interface Sequence { readonly render: Render, readonly inlines: readonly { readonly name: string, readonly render: Render }[] }

/** The functions that compile nested parts of a template. They are passed along, so that no file imports another one that imports it. */
export interface Compilers {
  /** Compiles an expression that is an argument, where a name is always a path. */
  expression(expression: Expression, environment: Environment, use: Use): Compiled
  /**
   * Compiles a sequence of statements: the template itself, or the body of a block.
   * @param outside the environment around the block; `undefined` for the template itself. The inline partials that the sequence defines are compiled in
   * it: as in the package handlebars, they see what the block's own statement sees.
   * @param definedIn finds the scope of `outside` while the template runs, from the scope of the sequence
   * @param isHanded whether the sequence is the body of `{{#> name}}…{{/name}}`: its inline partials are then defined in the partial that is called, but
   * not in their own bodies, which run in the surroundings of the call
   */
  sequence(
    program: Program,
    environment: Environment,
    outside: Environment | undefined,
    definedIn: (scope: Scope) => Scope | undefined,
    isHanded?: boolean
  ): Sequence
}

/** Makes the error for a mistake at a node of the syntax tree. */
export function syntaxError (message: string, node: { readonly loc: { readonly start: Place } }): TemplateSyntaxError {
  return new TemplateSyntaxError(message, positionOf(node.loc.start))
}

/** Turns the error of a function into the one to throw. A function's own error gets its place in the template; any other stays as it is. */
export function failAt (error: unknown, at: Position, name?: string): unknown {
  if (!(error instanceof FunctionError)) return error
  return new RenderError('handlebars', name === undefined ? error.message : `${name}: ${error.message}`, at)
}
