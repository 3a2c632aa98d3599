import { type PartialCall, type PathNeed, type Reference, RenderError, TemplateSyntaxError } from '../language.ts'
import type { Position } from '../tags.ts'
import { FunctionError } from '../template-function.ts'
import { type Expression, type Hash, type SourcePosition, positionOf, type Program } from './parse.ts'
import { type InlineContexts, solePath, type StaticPath, UNKNOWN } from './static-path.ts'
import type { Compiled, Render, Scope } from './scope.ts'

/** A few times the greatest number of tags. */
const MAX_OF_SEVERAL = 10_000

export interface RawCall {
  readonly argument: StaticPath
  readonly named: ReadonlyArray<{ readonly name: string, readonly where: StaticPath }>
  readonly inlines: ReadonlySet<string>
  readonly isConditional: boolean
}

export class Collection {
  readonly declared: ReadonlySet<string>
  readonly inlines: InlineContexts
  readonly compilers: Compilers
  hasMorePaths = false
  #left = MAX_OF_SEVERAL
  /** Counted since the innermost sequence began: its cost in visits. */
  nodes = 0
  readonly #text: string
  #lines: readonly string[] | undefined
  readonly #references: Array<Omit<Reference, 'calls'> & { readonly call: RawCall | undefined }> = []
  readonly #needs: Array<{ readonly where: StaticPath, readonly use: Exclude<Use, 'descended'>, readonly at: Position, readonly reference?: number }> = []

  constructor (text: string, declared: ReadonlySet<string>, inlines: InlineContexts, compilers: Compilers) {
    this.#text = text
    this.declared = declared
    this.inlines = inlines
    this.compilers = compilers
  }

  refer (kind: Reference['kind'], name: string, params: readonly Expression[], hash: Hash | undefined, { line, column }: Position, call?: RawCall): number {
    const written = [...params, ...hash?.pairs ?? []].map(node => this.source(node.loc))
    return this.#references.push({ kind, name, arguments: written, call, line, column }) - 1
  }

  need (where: StaticPath, use: Use, at: Position, reference?: number): void {
    if (use !== 'descended') this.#needs.push({ where, use, at, reference })
  }

  references (): Reference[] {
    return this.#references.map(({ call, ...reference }) => call === undefined ? reference : { ...reference, calls: this.#resolveCall(call) })
  }

  #resolveCall ({ argument, named, ...rest }: RawCall): PartialCall[] {
    const { certain, possible } = this.#resolve(argument)
    const common = { ...rest, named: named.map(({ name, where }) => ({ name, path: solePath(this.inlines.resolve(where)) })) }
    // Where the argument is only possibly the root, a name can belong to the root or to another value.
    const members = possible.filter(path => path !== '')
    return [
      ...(certain.length === 0 ? [undefined] : certain).map(dot => ({ ...common, dot })),
      ...members.map((dot): PartialCall => ({ ...common, dot, isPossible: true }))
    ]
  }

  /** In source order. The scope root is listed only where it is used as a whole. */
  paths (): PathNeed[] {
    const paths: PathNeed[] = []
    for (const { where, use, at: { line, column }, reference } of this.#needs) {
      const { certain, possible } = this.#resolve(where)
      for (const path of certain) if (path !== '' || use === 'used') paths.push({ path, use: use === 'handed' ? 'used' : use, reference, line, column })
      for (const path of possible) if (path !== '') paths.push({ path, use: 'possible', reference, line, column })
    }
    // The paths are sorted here, because the bodies of inline partials are compiled after the statements that follow them.
    return this.inlines.names.size === 0 ? paths : paths.sort((one, other) => one.line - other.line || one.column - other.column)
  }

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

  source ({ start, end }: { readonly start: SourcePosition, readonly end: SourcePosition }): string {
    this.#lines ??= this.#text.split(/\r\n?|\n/)
    const lines = this.#lines.slice(start.line - 1, end.line)
    if (lines.length === 0) return ''
    lines.push((lines.pop() as string).slice(0, end.column))
    lines[0] = (lines[0] as string).slice(start.column)
    return lines.join('\n')
  }
}

/** `tested` may be absent; `descended` notes only the member read; `handed` to a partial, the root is not yet used as a whole. */
export type Use = 'used' | 'tested' | 'descended' | 'handed'

export interface ParamNames {
  readonly names: readonly string[]
  readonly values: readonly StaticPath[]
  readonly outer: ParamNames | undefined
}

export interface CompileContext {
  readonly collection: Collection
  readonly context: StaticPath
  /** The environment of the context to which `../` leads. */
  readonly up: CompileContext | undefined
  readonly params: ParamNames | undefined
  readonly inlines: ReadonlySet<string>
  readonly depth: number
  /** Whether paths and texts report to the trace of the run. Conditions do not: no output comes from them. */
  readonly isExplained: boolean
}

export interface Sequence { readonly render: Render, readonly inlines: readonly { readonly name: string, readonly render: Render }[] }

/** Passed along, so that no file imports another one that imports it. */
interface Compilers {
  expression(expression: Expression, environment: CompileContext, use: Use): Compiled
  /** Inline partials see what the block's statement sees, as in the package. `isHanded`: of `{{#> name}}`, defined only in the partial called. */
  sequence(
    program: Program,
    environment: CompileContext,
    outside: CompileContext | undefined,
    definedIn: (scope: Scope) => Scope | undefined,
    isHanded?: boolean
  ): Sequence
}

export function syntaxError (message: string, node: { readonly loc: { readonly start: SourcePosition } }): TemplateSyntaxError {
  return new TemplateSyntaxError(message, positionOf(node.loc.start))
}

export function failAt (error: unknown, at: Position, name?: string): unknown {
  if (!(error instanceof FunctionError)) return error
  return new RenderError('handlebars', name === undefined ? error.message : `${name}: ${error.message}`, at)
}
