import Handlebars from 'handlebars'
import { goLanguage } from '../../src/template/go/go-language.ts'
import { handlebarsLanguage } from '../../src/template/handlebars/handlebars-language.ts'
import { type Link, type LinkedPartial, type Syntax, type Template } from '../../src/template/language.ts'
import { DEFAULT_LIMITS, type EnvironSource, RenderRun } from '../../src/template/run.ts'
import { ScopeRoot } from '../../src/template/scope.ts'
import { Trace } from '../../src/template/trace.ts'
import { type Case } from './cases.ts'

const LANGUAGES = { go: goLanguage, handlebars: handlebarsLanguage }

const NO_ENVIRONS: EnvironSource = {
  has: () => false,
  hasBelow: () => false,
  namesBelow: () => [],
  segmentsBelow: () => [],
  cached: () => undefined,
  fetch: async () => new Map()
}

/**
 * Renders with the service's engine as the service does: a new run, budget and all, each time.
 * @param explain also notes what every piece of the output was made from, as `?explain=true` does: `noted`, what a
 * render does for it; `told`, with the spans that are made of the notes for the reply
 */
export function serviceEngine (example: Case, syntax: Syntax, explain?: 'noted' | 'told'): () => string {
  const partials = new Map<string, LinkedPartial>()
  for (const [id, texts] of Object.entries(example.partials)) {
    const template = LANGUAGES[syntax].compile({ text: texts[syntax], explain: explain !== undefined })
    let links: readonly (Link | undefined)[] | undefined
    partials.set(id, {
      kind: 'partial',
      id,
      template: () => template,
      get links () { return (links ??= linksOf(template, partials)) },
      root: outer => outer instanceof ScopeRoot ? outer.forPartial({}, undefined) : outer
    })
  }
  const template = LANGUAGES[syntax].compile({ text: example[syntax], explain: explain !== undefined })
  const links = linksOf(template, partials)
  if (explain === undefined) return () => renderOnce(template, links, example)
  if (explain === 'noted') return () => explainOnce(template, links, example).output
  return () => tellOnce(template, links, example)
}

/** One pass over a compiled template. */
export function renderOnce (template: Template, links: readonly (Link | undefined)[], { variables }: Case): string {
  const run = new RenderRun({ environs: NO_ENVIRONS, limits: DEFAULT_LIMITS, deadline: performance.now() + 500 })
  const root = new ScopeRoot(run, variables, {}, undefined)
  run.beginPass()
  return template.open(run, { links, root })(root)
}

/** The same, explained. */
function explainOnce (template: Template, links: readonly (Link | undefined)[], { variables }: Case): { output: string, trace: Trace } {
  const trace = new Trace()
  const run = new RenderRun({ environs: NO_ENVIRONS, limits: DEFAULT_LIMITS, deadline: performance.now() + 500, trace })
  const root = new ScopeRoot(run, variables, {}, undefined)
  run.beginPass()
  const output = template.open(run, { links, root })(root)
  trace.endText()
  return { output, trace }
}

/** The text as the spans have it. */
function tellOnce (template: Template, links: readonly (Link | undefined)[], example: Case): string {
  let told = ''
  for (const spans of explainOnce(template, links, example).trace.texts) {
    for (const { text, sources } of spans) if (sources.length > 0) told += text
  }
  return told
}

function linksOf (template: Template, partials: ReadonlyMap<string, LinkedPartial>): (Link | undefined)[] {
  return template.references.map(({ name }) => partials.get(name))
}

/** Renders with the handlebars package, with the options that make it fastest. */
export function packageEngine ({ handlebars, partials, variables }: Case): () => string {
  const instance = Handlebars.create()
  for (const [name, texts] of Object.entries(partials)) instance.registerPartial(name, compileWithPackage(instance, texts.handlebars))
  const template = compileWithPackage(instance, handlebars)
  const data = { variables }
  return () => template(data)
}

/** Compiles with the handlebars package; it does the work when the template first renders. */
export function compileWithPackage (instance: typeof Handlebars, text: string): Handlebars.TemplateDelegate {
  return instance.compile(text, { noEscape: true, knownHelpersOnly: true })
}
