import {
  type FailingPart,
  type Frame,
  type Language,
  type OpenTemplate,
  type PathNeed,
  type Reference,
  type Syntax,
  type Template,
  type TemplateSource,
  type UnreachablePart
} from '../language.ts'
import { type Run } from '../run/run.ts'
import { type Piece } from '../explain/piece.ts'
import { traceOf } from '../explain/trace-of.ts'
import { type TemplateFunction } from '../functions/function.ts'
import { GO_FUNCTION_NAMES } from './compile/calls/call.ts'
import { type Body } from './compile/code.ts'
import { compileTree } from './compile/compile.ts'
import { Machine } from './compile/machine.ts'
import { TracedMachine } from './compile/explain/traced-machine.ts'
import { TRACED, UNTRACED } from './compile/tracing.ts'
import { writeList } from './compile/write-list.ts'
import { findPaths } from './needs/paths.ts'
import { findReferences } from './needs/references.ts'
import { findUnreachable } from './needs/unreachable.ts'
import { parse } from './syntax/parser.ts'
import { hasLoneSurrogate, toUnicode, toUnicodePieces } from './value/bytes.ts'
import { type GoValue } from './value/go-value.ts'

/** The length of text that costs one visit (a unit of a render's work) when it is turned into Unicode, in UTF-16 units. */
const UNITS_PER_VISIT = 16

/**
 * Makes the template language Go (the syntax of Go's text/template). It parses a template into a tree, and compiles the tree into closures once.
 * @param functions the functions that both languages have; every other name is that of a tool
 */
export function createGoLanguage (functions: ReadonlyMap<string, TemplateFunction>): Language {
  const isKnown = (word: string): boolean => GO_FUNCTION_NAMES.has(word) || functions.has(word)
  return {
    syntax: 'go',
    compile: ({ text, explain = false }: TemplateSource): Template => {
      const tree = parse(text)
      const { paths, calls, isComplete } = findPaths(tree)
      const { references, links } = findReferences(tree, isKnown, calls)
      const { body, failing } = compileTree(tree, { functions, links, tracing: explain ? TRACED : UNTRACED })
      return new GoTemplate({ references, paths, hasMorePaths: !isComplete, unreachable: findUnreachable(tree), failing }, body, explain)
    }
  }
}

/**
 * Turns the output of a template into valid Unicode. In Go a text can hold single bytes; here lone surrogates stand for them, which other code does not know.
 * @param start the last piece of output that was there before the template
 */
function unicodeOutput (run: Run, text: string, start: Piece | undefined): string {
  if (!hasLoneSurrogate(text)) return text
  run.charge(Math.ceil(text.length / UNITS_PER_VISIT))
  return run.trace === undefined ? toUnicode(text) : run.trace.rewrite(start, toUnicodePieces)
}

class GoTemplate implements Template {
  readonly syntax: Syntax = 'go'
  readonly references: readonly Reference[]
  readonly paths: readonly PathNeed[]
  readonly hasMorePaths: boolean
  readonly unreachable: readonly UnreachablePart[]
  readonly failing: readonly FailingPart[]
  readonly #body: Body
  readonly #isExplained: boolean

  constructor (
    { references, paths, hasMorePaths, unreachable, failing }: Pick<GoTemplate, 'references' | 'paths' | 'hasMorePaths' | 'unreachable' | 'failing'>,
    body: Body,
    isExplained: boolean
  ) {
    this.references = references
    this.paths = paths
    this.hasMorePaths = hasMorePaths
    this.unreachable = unreachable
    this.failing = failing
    this.#body = body
    this.#isExplained = isExplained
  }

  open (run: Run, frame: Frame): OpenTemplate {
    const { list } = this.#body
    // The machine is kept for the next time, so that a partial in a loop needs only one. While a template runs within itself, each run of it has its
    // own machine.
    let idle: Machine | undefined
    return (dot, before) => {
      const machine = idle ?? this.#machine(run, frame)
      idle = undefined
      machine.variables[0] = dot
      machine.traced?.begin(run.within)
      const text = before === undefined ? this.#writeWhole(machine, dot) : writeList(machine, list, dot, before)
      idle = machine
      return text
    }
  }

  #writeWhole (machine: Machine, dot: GoValue): string {
    const { run } = machine
    const start = run.trace?.last
    const text = writeList(machine, this.#body.list, dot, '')
    run.checkOutput(text.length)
    return run.holdsBytes ? unicodeOutput(run, text, start) : text
  }

  #machine (run: Run, frame: Frame): Machine {
    const machine = new Machine(run, frame, new Array<GoValue>(this.#body.slots))
    if (this.#isExplained) machine.traced = new TracedMachine(traceOf(run), frame.root)
    return machine
  }
}
