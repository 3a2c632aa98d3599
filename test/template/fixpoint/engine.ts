import { renderToFixpoint } from '../../../src/template/fixpoint.ts'
import { goLanguage } from '../../../src/template/go/go-language.ts'
import { handlebarsLanguage } from '../../../src/template/handlebars/handlebars-language.ts'
import { type Link, type LinkedPartial, RenderError, type Template } from '../../../src/template/language.ts'
import { DEFAULT_LIMITS, type EnvironSource, type LinkedTool, Run, type RunOptions, type ToolCall } from '../../../src/template/run.ts'
import { ScopeRoot } from '../../../src/template/scope.ts'
import { type Json, markToolResult, NOTHING, type Value } from '../../../src/template/value.ts'
import { ServiceError } from '../../../src/errors.ts'
import { fakeEnvirons, runOptions } from '../../helpers/fake-run.ts'
import { printGo } from './language/print-go.ts'
import { printHandlebars } from './language/print-handlebars.ts'
import { type Partial, type Program, type Statement, type Syntax, type World } from './program.ts'
import { answer, callKey, mapArguments, type Tool, TOOLS } from './tools.ts'

/** What an engine made of a program. */
export interface Rendered {
  readonly kind: 'output' | 'miss' | 'error'
  readonly output: string
  readonly reason: string
  /** Every call that was made, in the order in which they were made. */
  readonly calls: readonly string[]
  /** Every shared variable that was fetched. */
  readonly fetched: readonly string[]
  readonly passes: number
}

const LIMITS = { ...DEFAULT_LIMITS, visits: 100_000_000, calls: 10_000 }

/** Renders a program with the engine of its language, as the service does. */
export async function render (program: Program): Promise<Rendered> {
  const calls: string[] = []
  const environs = environsOf(program.world)
  const options = runOptions({ environs, callTool: async call => callTool(call, calls), limits: LIMITS })
  const run = new Run(options)
  const root = new ScopeRoot(run, program.world.variables, {}, undefined)
  const { template, links } = link(program)
  let passes = 0
  const pass = (): string => {
    passes++
    return template.render(run, { links, root, dot: root })
  }
  const outcome = await outcomeOf(renderToFixpoint(run, 'test', pass, options, 60_000))
  return { ...outcome, calls, fetched: environs.fetched.flat(), passes }
}

async function outcomeOf (rendering: Promise<string>): Promise<Pick<Rendered, 'kind' | 'output' | 'reason'>> {
  try {
    return { kind: 'output', output: await rendering, reason: '' }
  } catch (error) {
    if (error instanceof RenderError) return { kind: 'error', output: '', reason: error.message }
    if (error instanceof ServiceError && error.code === 'VARIABLE_MISSING') return { kind: 'miss', output: '', reason: error.message }
    throw error
  }
}

async function callTool ({ tool, arguments: values }: ToolCall, calls: string[]): ReturnType<RunOptions['callTool']> {
  calls.push(callKey(tool.name, values))
  const result = answer(TOOLS.get(tool.name) as Tool, values)
  if (result === undefined) return NOTHING satisfies Value
  markToolResult(result)
  return result
}

const LINKED_TOOLS: ReadonlyMap<string, LinkedTool> = new Map([...TOOLS].map(([name, tool]) =>
  [name, { kind: 'tool', name, id: name, mapArguments: (positional, named) => mapArguments(tool, positional, named) }]))

interface Linked { readonly template: Template, readonly links: ReadonlyArray<Link | undefined> }

/** Compiles the template and the partials, and resolves their names as a generation does. */
function link ({ syntax, body, partials }: Program): Linked {
  const linked = new Map<string, LinkedPartial>()
  const resolve = (template: Template): Linked => ({
    template,
    links: template.references.map(({ name, kind }) => kind.endsWith('partial') ? linked.get(name) : LINKED_TOOLS.get(name))
  })
  const locals = partials.filter(({ isLocal }) => isLocal)
  for (const partial of partials) if (!partial.isLocal) linked.set(partial.name, linkPartial(partial, resolve))
  return resolve(compile(syntax, body, locals, undefined))
}

function linkPartial ({ name, syntax, body, defaults }: Partial, resolve: (template: Template) => Linked): LinkedPartial {
  const declared = defaults && new Set(Object.keys(defaults))
  const template = compile(syntax, body, [], declared)
  let links: Linked['links'] | undefined
  return {
    kind: 'partial',
    id: name,
    template: () => template,
    get links () { return (links ??= resolve(template).links) },
    root: outer => (outer as ScopeRoot).forPartial(defaults ?? {}, declared)
  }
}

function compile (syntax: Syntax, body: readonly Statement[], locals: readonly Partial[], declared: ReadonlySet<string> | undefined): Template {
  const language = syntax === 'go' ? goLanguage : handlebarsLanguage
  return language.compile({ text: printSource(syntax, body, locals), ...(declared === undefined ? {} : { declared }) })
}

/** The source that a body is compiled from. */
export function printSource (syntax: Syntax, body: readonly Statement[], locals: readonly Partial[]): string {
  return syntax === 'go' ? printGo(body, locals) : printHandlebars(body, locals)
}

function environsOf ({ environs }: World): EnvironSource & { readonly fetched: Array<readonly string[]> } {
  const source = fakeEnvirons(Object.fromEntries(environs.map(({ name, value }) => [name, value])))
  const states = new Map(environs.map(environ => [environ.name, environ]))
  const entry = (value: Json) => ({ value, bytes: 1 })
  return {
    ...source,
    cached (name) {
      const environ = states.get(name)
      return environ?.state === 'cached' ? entry(environ.value) : undefined
    },
    async fetch (names, signal) {
      const values = await source.fetch(names, signal)
      return new Map([...values].filter(([name]) => states.get(name)?.state !== 'gone'))
    }
  }
}
