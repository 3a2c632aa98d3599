import { renderToFixpoint, RenderRun } from '../../../src/template/run.ts'
import { goLanguage } from '../../../src/template/go/go-language.ts'
import { handlebarsLanguage } from '../../../src/template/handlebars/handlebars-language.ts'
import { type Link, type LinkedPartial, type Syntax, type Template } from '../../../src/template/language.ts'
import { type LinkedTool } from '../../../src/template/template-function.ts'
import { ScopeRoot } from '../../../src/template/scope.ts'
import { type OutputSpan } from '../../../src/template/provenance.ts'
import { Trace } from '../../../src/template/trace.ts'
import { type Json, type JsonObject } from '../../../src/base/json.ts'
import { markToolResult, NOTHING } from '../../../src/template/value.ts'
import { fakeEnvirons, runOptions } from '../../helpers/fake-run.ts'

/** What a template of these tests runs with; everything may be left out. */
export interface Setting {
  /** What the caller sends. */
  readonly variables?: JsonObject
  /** What declared parameters have when the caller leaves them out. */
  readonly defaults?: JsonObject
  /** Shared variables by path; none is in memory at first. */
  readonly environs?: Readonly<Record<string, Json>>
  /** What each tool gives; null for one that fails. */
  readonly tools?: Readonly<Record<string, Json>>
  readonly partials?: Readonly<Record<string, { readonly syntax: Syntax, readonly text: string, readonly defaults?: JsonObject }>>
  readonly visits?: number
}

export interface Explained {
  readonly output: string
  readonly spans: readonly OutputSpan[]
  readonly trace: Trace
}

/** Renders without a trace. */
export async function renderPlainly (syntax: Syntax, text: string, setting: Setting): Promise<string> {
  return render(syntax, text, setting, undefined)
}

/** Renders with one. */
export async function renderExplained (syntax: Syntax, text: string, setting: Setting): Promise<Explained> {
  const trace = new Trace()
  const output = await render(syntax, text, setting, trace)
  return { output, spans: trace.texts[0] ?? [], trace }
}

async function render (syntax: Syntax, text: string, setting: Setting, trace: Trace | undefined): Promise<string> {
  const { variables = {}, defaults = {}, environs = {}, tools = {} } = setting
  const options = runOptions({
    environs: fakeEnvirons(environs),
    trace,
    async callTool (call) {
      const value = structuredClone(tools[call.tool.name] ?? null)
      trace?.answered(call, value === null ? { outcome: 'failed', durationMs: 1, error: 'TIMEOUT' } : { outcome: 'ok', durationMs: 1 })
      markToolResult(value)
      return value ?? NOTHING
    }
  })
  const template = compile(syntax, text, trace !== undefined)
  const links = linksOf(template, setting)
  const run = new RenderRun(options)
  const all = { ...defaults, ...variables }
  const leftOut = new Set(Object.keys(defaults).filter(name => !Object.hasOwn(variables, name)))
  const root = new ScopeRoot(run, all, {}, undefined, leftOut)
  return renderToFixpoint(run, 'test', () => {
    const output = template.open(run, { links, root })(root)
    trace?.endText()
    return output
  }, options)
}

function compile (syntax: Syntax, text: string, explain: boolean): Template {
  return (syntax === 'go' ? goLanguage : handlebarsLanguage).compile({ text, explain })
}

function linksOf (template: Template, setting: Setting): ReadonlyArray<Link | undefined> {
  return template.references.map(({ kind, name }) => kind.endsWith('partial') ? partialOf(name, setting) : toolOf(name, setting))
}

function partialOf (id: string, setting: Setting): LinkedPartial | undefined {
  const partial = setting.partials?.[id]
  if (partial === undefined) return undefined
  const { syntax, text, defaults = {} } = partial
  return {
    kind: 'partial',
    id,
    template: explain => compile(syntax, text, explain),
    get links () { return linksOf(compile(syntax, text, false), setting) },
    root: outer => outer instanceof ScopeRoot ? outer.forPartial(defaults, undefined) : outer
  }
}

function toolOf (name: string, { tools = {} }: Setting): LinkedTool | undefined {
  if (!Object.hasOwn(tools, name)) return undefined
  return { kind: 'tool', name, id: name.replace('_', '.'), mapArguments: (positional, named) => ({ ...Object.fromEntries(positional.entries()), ...named }) }
}
