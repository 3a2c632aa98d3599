import { DEFAULT_LIMITS, type EnvironSource, renderToFixpoint, RenderRun, type RunOptions } from '../../../src/template/run.ts'
import { goLanguage } from '../../../src/template/go/go-language.ts'
import { handlebarsLanguage } from '../../../src/template/handlebars/handlebars-language.ts'
import { type Link, type LinkedPartial, RenderError, type Template } from '../../../src/template/language.ts'
import { type LinkedTool, type ToolCall } from '../../../src/template/template-function.ts'
import { ScopeRoot } from '../../../src/template/scope.ts'
import { type Json } from '../../../src/base/json.ts'
import { markToolResult, NOTHING, type Value } from '../../../src/template/value.ts'
import { ServiceError } from '../../../src/base/errors.ts'
import { fakeEnvirons, runOptions } from '../../helpers/fake-run.ts'
import { printGo } from './language/print-go.ts'
import { printHandlebars } from './language/print-handlebars.ts'
import { type Partial, type Program, type Syntax, type World } from './program.ts'
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
}

const LIMITS = { ...DEFAULT_LIMITS, visits: 100_000_000, calls: 10_000 }

/** A program as engines take it. */
export interface Sources {
  readonly syntax: Syntax
  readonly text: string
  readonly partials: readonly PartialSource[]
  readonly world: World
}

/** A prompt used as a partial. */
export interface PartialSource extends Pick<Partial, 'name' | 'syntax' | 'defaults'> { readonly text: string }

/** The sources of a program. */
export function sourcesOf ({ syntax, body, partials, world }: Program): Sources {
  const print = (each: Syntax): typeof printGo => each === 'go' ? printGo : printHandlebars
  return {
    syntax,
    text: print(syntax)(body, partials.filter(({ isLocal }) => isLocal)),
    partials: partials.filter(({ isLocal }) => !isLocal).map(({ name, syntax, body, defaults }) => ({ name, syntax, defaults, text: print(syntax)(body, []) })),
    world
  }
}

/** Renders sources with the engines of their languages, as the service does. */
export async function renderSources (sources: Sources): Promise<Rendered> {
  const { world } = sources
  const calls: string[] = []
  const environs = environsOf(world)
  const options = runOptions({ environs, callTool: async call => callTool(call, world.salt, calls), limits: LIMITS })
  const run = new RenderRun(options)
  const root = new ScopeRoot(run, world.variables, {}, undefined)
  const { template, links } = link(sources)
  const rendering = renderToFixpoint(run, 'test', () => template.open(run, { links, root })(root), options)
  return { ...await outcomeOf(rendering), calls, fetched: environs.fetched.flat() }
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

async function callTool ({ tool, arguments: values }: ToolCall, salt: number, calls: string[]): ReturnType<RunOptions['callTool']> {
  calls.push(callKey(tool.name, values))
  const result = answer(TOOLS.get(tool.name) as Tool, values, salt)
  if (result === undefined) return NOTHING satisfies Value
  markToolResult(result)
  return result
}

const LINKED_TOOLS: ReadonlyMap<string, LinkedTool> = new Map([...TOOLS].map(([name, tool]) =>
  [name, { kind: 'tool', name, id: name, mapArguments: (positional, named) => mapArguments(tool, positional, named) }]))

interface Linked { readonly template: Template, readonly links: ReadonlyArray<Link | undefined> }

/** Compiles the template and the partials, and resolves their names as a generation does. */
function link ({ syntax, text, partials }: Sources): Linked {
  const linked = new Map<string, LinkedPartial>()
  const resolve = (template: Template): Linked => ({
    template,
    links: template.references.map(({ name, kind }) => kind.endsWith('partial') ? linked.get(name) : LINKED_TOOLS.get(name))
  })
  for (const partial of partials) linked.set(partial.name, linkPartial(partial, resolve))
  return resolve(compile(syntax, text, undefined))
}

function linkPartial ({ name, syntax, text, defaults }: PartialSource, resolve: (template: Template) => Linked): LinkedPartial {
  const declared = defaults && new Set(Object.keys(defaults))
  const template = compile(syntax, text, declared)
  let links: Linked['links'] | undefined
  return {
    kind: 'partial',
    id: name,
    template: () => template,
    get links () { return (links ??= resolve(template).links) },
    root: outer => (outer as ScopeRoot).forPartial(defaults ?? {}, declared)
  }
}

function compile (syntax: Syntax, text: string, declared: ReadonlySet<string> | undefined): Template {
  const language = syntax === 'go' ? goLanguage : handlebarsLanguage
  return language.compile({ text, ...(declared === undefined ? {} : { declared }) })
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
