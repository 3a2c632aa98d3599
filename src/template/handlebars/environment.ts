import { TemplateSyntaxError, type PartialCall, type PathNeed, type Position, type Reference, type Whereabouts } from '../language.ts'
import { type Expression, type Hash, type Place } from './ast.ts'
import { positionOf } from './parse.ts'
import { type Evaluate } from './scope.ts'
import { type TracedPath } from './tracing-paths.ts'

/** Paths noted of what has several: as many as there may be tags. */
const MAX_POSSIBLE = 2000

/** What a compile collects over the whole template. */
export class Collection {
  readonly references: Reference[] = []
  readonly paths: PathNeed[] = []
  readonly declared: ReadonlySet<string>
  /** Names of all inline partials, wherever they are defined. */
  readonly inlines: ReadonlySet<string>
  /** Nodes compiled since the innermost sequence began: what entering it costs. */
  nodes = 0
  readonly #lines: readonly string[]
  #possible = 0

  constructor (text: string, declared: ReadonlySet<string>, inlines: ReadonlySet<string>) {
    this.#lines = text.split(/\r\n?|\n/)
    this.declared = declared
    this.inlines = inlines
  }

  /** Adds a reference and gives its slot. */
  refer (kind: Reference['kind'], name: string, params: readonly Expression[], hash: Hash | undefined, at: Position, call?: PartialCall): number {
    const written = [...params, ...hash?.pairs ?? []].map(node => this.source(node.loc))
    return this.references.push({ kind, name, arguments: written, ...(call === undefined ? {} : { call }), line: at.line, column: at.column }) - 1
  }

  /** Notes the paths of what the template reads; the root itself is not noted. */
  need ({ certain, possible }: Whereabouts, use: Use, at: Position): void {
    if (use === 'descended') return
    for (const path of certain) this.#note(path, use, at)
    for (const path of possible) if (this.#possible++ < MAX_POSSIBLE) this.#note(path, 'possible', at)
  }

  #note (path: string, use: PathNeed['use'], { line, column }: Position): void {
    if (path !== '') this.paths.push({ path, use, line, column })
  }

  /** The text between two places of the tree. */
  source ({ start, end }: { readonly start: Place, readonly end: Place }): string {
    const lines = this.#lines.slice(start.line - 1, end.line)
    if (lines.length === 0) return ''
    lines.push((lines.pop() as string).slice(0, end.column))
    lines[0] = (lines[0] as string).slice(start.column)
    return lines.join('\n')
  }
}

/** What becomes of an expression's value: `descended` when only a member of it is read, which is noted instead. */
export type Use = 'used' | 'tested' | 'descended'

/** Names of block parameters in force, and where what they stand for is found. */
export interface ParamNames {
  readonly names: readonly string[]
  readonly values: readonly Whereabouts[]
  readonly outer: ParamNames | undefined
}

/** What is known at compile time about the place that a statement runs in. */
export interface Environment {
  readonly collection: Collection
  readonly context: Whereabouts
  /** The place that `../` leads to. */
  readonly up: Environment | undefined
  readonly params: ParamNames | undefined
  /** Names of the inline partials that are certainly in force. */
  readonly inlines: ReadonlySet<string>
  /** Blocks around this place, in this template. */
  readonly depth: number
  /** Whether what is compiled tells a trace what it reads and writes: not in conditions, which are no source of anything. */
  readonly explain: boolean
}

/** A compiled expression. */
export interface Compiled {
  readonly evaluate: Evaluate
  /** Where its value is found. */
  readonly where: Whereabouts
  /** Its reference, for a name that may be a tool: it is one when the reference is linked. */
  readonly toolSlot?: number
  /** What is known of a path that is to be explained. */
  readonly traced?: TracedPath
}

/** A mistake at a node. */
export function syntaxError (message: string, node: { readonly loc: { readonly start: Place } }): TemplateSyntaxError {
  return new TemplateSyntaxError(message, positionOf(node.loc.start))
}
