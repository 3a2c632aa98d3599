import { type Position } from '../../position.ts'
import { TemplateSyntaxError, type PartialCall, type PathNeed, type Reference } from '../../language.ts'
import { type Expression, type Hash, type Place, type Program } from '../syntax/ast.ts'
import { type InlineContexts } from './inline-contexts.ts'
import { positionOf } from '../syntax/parse.ts'
import { type Compiled } from './compiled.ts'
import { type Render, type Scope } from './scope.ts'
import { solePath, UNKNOWN, type StaticPath } from './static-path.ts'
import { type Tracing } from './tracing.ts'

/** Paths told of what has several: a few times as many as there may be tags. */
const MAX_OF_SEVERAL = 10_000

/** How a partial is called, as far as that is known before the contexts of the inline partials around the call are known. */
export interface RawCall {
  readonly argument: StaticPath
  readonly named: ReadonlyArray<{ readonly name: string, readonly where: StaticPath }>
  readonly inlines: ReadonlySet<string>
  readonly isConditional: boolean
}

/** What a compile collects over the whole template. */
export class Collection {
  readonly declared: ReadonlySet<string>
  readonly inlines: InlineContexts
  readonly compilers: Compilers
  /** Whether there were too many paths to tell all of them. */
  hasMorePaths = false
  #left = MAX_OF_SEVERAL
  /** Nodes compiled since the innermost sequence began: what entering it costs. */
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

  /** Adds a reference and gives its slot. */
  refer (kind: Reference['kind'], name: string, params: readonly Expression[], hash: Hash | undefined, { line, column }: Position, call?: RawCall): number {
    const written = [...params, ...hash?.pairs ?? []].map(node => this.source(node.loc))
    return this.#references.push({ kind, name, arguments: written, call, line, column }) - 1
  }

  /** Notes where what the template reads is found. */
  need (where: StaticPath, use: Use, at: Position): void {
    if (use !== 'descended') this.#needs.push({ where, use, at })
  }

  /** The references, by slot. */
  references (): Reference[] {
    return this.#references.map(({ call, ...reference }) => call === undefined ? reference : { ...reference, calls: this.#resolveCall(call) })
  }

  #resolveCall ({ argument, named, ...rest }: RawCall): PartialCall[] {
    const { certain, possible } = this.#resolve(argument)
    const common = { ...rest, named: named.map(({ name, where }) => ({ name, path: solePath(this.inlines.resolve(where)) })) }
    // A name may be the root's or a member of something else there: only what is always the root's is told.
    const members = possible.filter(path => path !== '')
    return [
      ...(certain.length === 0 ? [undefined] : certain).map(dot => ({ ...common, dot })),
      ...members.map((dot): PartialCall => ({ ...common, dot, isPossible: true }))
    ]
  }

  /** What is read, in source order; of the root, only that all of it is used is worth knowing. */
  paths (): PathNeed[] {
    const paths: PathNeed[] = []
    for (const { where, use, at: { line, column } } of this.#needs) {
      const { certain, possible } = this.#resolve(where)
      for (const path of certain) if (path !== '' || use === 'used') paths.push({ path, use: use === 'handed' ? 'used' : use, line, column })
      for (const path of possible) if (path !== '') paths.push({ path, use: 'possible', line, column })
    }
    // The bodies of inline partials are compiled after what follows them.
    return this.inlines.names.size === 0 ? paths : paths.sort((one, other) => one.line - other.line || one.column - other.column)
  }

  /** Where a value is found, as long as there are not too many places. */
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

  /** The text between two places of the tree. */
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
 * What becomes of an expression's value: `descended` when only a member of it is read, which is noted instead; `handed`
 * when a partial is called with it, which is no use of all of the root.
 */
export type Use = 'used' | 'tested' | 'descended' | 'handed'

/** Names of block parameters in force, and where what they stand for is found. */
export interface ParamNames {
  readonly names: readonly string[]
  readonly values: readonly StaticPath[]
  readonly outer: ParamNames | undefined
}

/** What is known at compile time about the place that a statement runs in. */
export interface Environment {
  readonly collection: Collection
  readonly context: StaticPath
  /** The place that `../` leads to. */
  readonly up: Environment | undefined
  readonly params: ParamNames | undefined
  /** Names of the inline partials that are certainly in force. */
  readonly inlines: ReadonlySet<string>
  /** Blocks around this place, in this template. */
  readonly depth: number
  /** What is compiled tells a trace, but for conditions, which are no source of anything. */
  readonly tracing: Tracing
}

/** A compiled sequence, and the inline partials that it defines. */
export interface Sequence { readonly render: Render, readonly inlines: readonly { readonly name: string, readonly render: Render }[] }

/** What compiles the parts inside a part: given along, since no file imports one that imports it. */
export interface Compilers {
  /** Compiles an expression in the place of an argument, where a name is always a path. */
  expression(expression: Expression, environment: Environment, use: Use): Compiled
  /**
   * Compiles a sequence of statements: the template itself, the body of a block.
   * @param outside the environment around the block, for the inline partials that the sequence defines: as in the
   * package, they see what the block's own statement sees; `undefined` for the template itself
   * @param definedIn gives the scope of `outside` at run time, from the sequence's own
   * @param isHanded whether it is the body of a partial's call: the partial has its inline partials in force, and their own
   * bodies do not, since they run in what is around the call
   */
  sequence(
    program: Program,
    environment: Environment,
    outside: Environment | undefined,
    definedIn: (scope: Scope) => Scope | undefined,
    isHanded?: boolean
  ): Sequence
}

/** A mistake at a node. */
export function syntaxError (message: string, node: { readonly loc: { readonly start: Place } }): TemplateSyntaxError {
  return new TemplateSyntaxError(message, positionOf(node.loc.start))
}
