import { handlebarsLanguage } from '../../../src/template/handlebars/handlebars-language.ts'
import { DEFAULT_LIMITS, type Limits, renderToFixpoint, RenderRun, type RunOptions } from '../../../src/template/run.ts'
import { type LinkedTool } from '../../../src/template/template-function.ts'
import { ScopeRoot } from '../../../src/template/scope.ts'
import { type Json, type JsonObject } from '../../../src/base/json.ts'
import { markToolResult, type Value } from '../../../src/template/value.ts'
import { fakeEnvirons } from '../../helpers/fake-run.ts'
import { compilePartials, linkTo, type Partials } from './harness.ts'

/** What a test gives to a render; everything may be left out. */
export interface Setting {
  readonly variables?: JsonObject
  readonly declared?: readonly string[]
  /** What each tool gives for its arguments. */
  readonly tools?: Readonly<Record<string, (argument: JsonObject) => Value>>
  /** Shared variables by name, none of them in memory at first. */
  readonly environs?: Readonly<Record<string, Json>>
  readonly partials?: Partials
  readonly limits?: Partial<Limits>
}

export interface Rendered {
  readonly output: string
  readonly passes: number
  /** Calls in the order in which they were made, those of one round sorted. */
  readonly calls: readonly string[]
  /** How many round trips fetched shared variables. */
  readonly fetches: number
}

/** Renders to a fixpoint, with tools that are functions and shared variables that must be fetched first. */
export async function render (text: string, setting: Setting = {}): Promise<Rendered> {
  const { variables = {}, tools = {}, environs = {}, partials = {} } = setting
  const calls: string[] = []
  const source = fakeEnvirons(environs)
  const limits = { ...DEFAULT_LIMITS, ...setting.limits }
  const options: RunOptions = {
    environs: source,
    callTool: async ({ tool, arguments: argument }) => {
      calls.push(`${tool.name} ${JSON.stringify(argument)}`)
      const result = (tools[tool.name] as (argument: JsonObject) => Value)(argument)
      markToolResult(result as Json)
      return result
    },
    now: new Date('2026-02-03T04:05:06.007Z'),
    deadline: performance.now() + 60_000,
    timeout: 60_000,
    signal: new AbortController().signal,
    limits
  }
  const linkedTools = new Map(Object.keys(tools).map(name => [name, toolNamed(name)]))
  const declared = setting.declared === undefined ? undefined : new Set(setting.declared)
  const template = handlebarsLanguage.compile(declared === undefined ? { text } : { text, declared })
  const links = linkTo(template, compilePartials(partials, linkedTools), linkedTools)
  const run = new RenderRun(options)
  const root = new ScopeRoot(run, variables, {}, declared)
  let passes = 0
  const pass = () => {
    passes++
    return template.open(run, { links, root })(root)
  }
  const output = await renderToFixpoint(run, 'test', pass, options)
  return { output, passes, calls, fetches: source.fetched.length }
}

/** A tool whose positional arguments are called `0`, `1` …. */
function toolNamed (name: string): LinkedTool {
  return { kind: 'tool', name, id: name, mapArguments: (positional, named) => ({ ...Object.fromEntries(positional.entries()), ...named }) }
}
