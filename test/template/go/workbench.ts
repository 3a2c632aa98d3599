import { type RunFrame, type Link, type Template } from '../../../src/template/language.ts'
import { DEFAULT_LIMITS, type EnvironSource, type Limits, renderToFixpoint, RenderRun, type RunOptions } from '../../../src/template/run.ts'
import { createGoLanguage } from '../../../src/template/go/go-language.ts'
import { fakeEnvirons } from '../../helpers/fake-run.ts'
import { FunctionError, type LinkedTool, type TemplateFunction, type ToolCall } from '../../../src/template/template-function.ts'
import { type Trace } from '../../../src/template/trace.ts'
import { ScopeRoot } from '../../../src/template/scope.ts'
import { type Json, type JsonObject, stringifyJson } from '../../../src/base/json.ts'
import { markToolResult, NOTHING, type Value } from '../../../src/template/value.ts'

/** A tool of the tests: a function of its arguments by position; `undefined` stands for a failed call. */
export type TestTool = (...args: readonly Json[]) => Json | undefined

/** What a template of the tests runs with. */
export interface World {
  readonly variables?: JsonObject
  /** Shared variables by name: `vscode:rules`. */
  readonly environs?: Readonly<Record<string, Json>>
  readonly tools?: Readonly<Record<string, TestTool>>
  readonly partials?: Readonly<Record<string, string>>
  readonly limits?: Partial<Limits>
}

/** What a render gave, and what it took. */
export interface Rendered {
  readonly output: string
  /** Every call, with its arguments, in no particular order. */
  readonly calls: readonly string[]
  readonly passes: number
}

const EXAMPLE = { go: '', handlebars: '', variables: {}, output: '' }

/** Stand-ins for functions of both languages. */
const FUNCTIONS: ReadonlyMap<string, TemplateFunction> = new Map([
  define('upper', 1, ([text]) => {
    if (typeof text !== 'string') throw new FunctionError('upper needs a text')
    return text.toUpperCase()
  }),
  define('json', 1, ([value]) => JSON.stringify(value === NOTHING ? null : value)),
  define('join', 2, ([separator, list]) => Array.isArray(list) ? list.join(separator as string) : '')
].map(each => [each.name, each]))

function define (name: string, count: number, apply: (args: readonly Value[]) => Value): TemplateFunction {
  return { name, parameters: '', summary: '', example: EXAMPLE, arity: { least: count, most: count }, apply }
}

/** The service's engine. */
export const language = createGoLanguage(FUNCTIONS)

/** Renders as the service does: pass after pass, until nothing is pending. */
export async function render (text: string, world: World = {}): Promise<Rendered> {
  const template = language.compile({ text })
  const calls: string[] = []
  const options = optionsOf(world, fakeEnvirons(world.environs ?? {}), async call => {
    calls.push(nameOf(call))
    return answer(world, call)
  })
  const run = new RenderRun(options)
  const frame = frameOf(template, world, run)
  let passes = 0
  const output = await renderToFixpoint(run, 'test', () => {
    passes++
    return template.open(run, frame)(frame.root)
  }, options)
  return { output, calls, passes }
}

/** Renders once, every call and every shared variable answered on the spot: what a render must come to. */
export function renderStrictly (text: string, world: World = {}): Rendered {
  const template = language.compile({ text })
  const run = new StrictRun(world)
  const frame = frameOf(template, world, run)
  const output = template.open(run, frame)(frame.root)
  if (run.misses.length > 0) throw new Error(`misses: ${run.misses.map(({ path }) => path).join(', ')}`)
  return { output, calls: [...run.answers.keys()], passes: 1 }
}

/** A run whose calls and shared variables are answered on the spot. */
export class StrictRun extends RenderRun {
  readonly answers = new Map<string, Value>()
  readonly #world: World

  constructor (world: World, trace?: Trace) {
    super({ ...optionsOf(world, fakeEnvirons(world.environs ?? {}, { inMemory: true }), async () => null), trace })
    this.#world = world
  }

  override call (...args: Parameters<RenderRun['call']>): Value {
    const known = super.call(...args)
    if (this.notedCalls.size === 0) return known
    for (const call of this.notedCalls.values()) {
      const value = answer(this.#world, call)
      this.answers.set(nameOf(call), value)
      this.learnCall(call, value)
    }
    return super.call(...args)
  }
}

function optionsOf (world: World, environs: EnvironSource, callTool: RunOptions['callTool']): RunOptions {
  return { environs, callTool, now: new Date(0), deadline: performance.now() + 10_000, timeout: 10_000, signal: new AbortController().signal, limits: { ...DEFAULT_LIMITS, ...world.limits } }
}

/** What a template is opened with: links to the tools and partials of the world, and its variables as the scope root. */
export function frameOf (template: Template, world: World, run: RenderRun): RunFrame {
  return { links: linksOf(template, world), root: new ScopeRoot(run, world.variables ?? {}, {}, undefined) }
}

function linksOf (template: Template, world: World): readonly Link[] {
  return template.references.map(({ kind, name }) => kind === 'partial' ? partialOf(name, world) : toolOf(name))
}

function partialOf (id: string, world: World): Link {
  const template = language.compile({ text: world.partials?.[id] ?? '' })
  return { kind: 'partial', id, template: () => template, links: linksOf(template, world), root: outer => outer }
}

function toolOf (name: string): LinkedTool {
  return { kind: 'tool', id: name, name, mapArguments: (positional, named) => ({ ...named, args: positional }) }
}

function nameOf ({ tool, arguments: mapped }: ToolCall): string {
  return `${tool.name}${stringifyJson(mapped.args as Json)}`
}

function answer (world: World, { tool, arguments: mapped }: ToolCall): Value {
  const value = world.tools?.[tool.name]?.(...mapped.args as readonly Json[])
  if (value === undefined) return NOTHING
  // Copied, so that one value of a test is marked only where a tool gave it.
  const copy = structuredClone(value)
  markToolResult(copy)
  return copy
}
