import Handlebars from 'handlebars'
import { type Link, type LinkedPartial, type Template } from '../../../src/template/language.ts'
import { handlebarsLanguage } from '../../../src/template/handlebars/handlebars-language.ts'
import { DEFAULT_LIMITS, Run, type EnvironSource, type LinkedTool } from '../../../src/template/run.ts'
import { Absent, LazyNode, NOTHING, type Json, type JsonObject, type Pending, type Value } from '../../../src/template/value.ts'

/** An environ source without anything in it. */
export const NO_ENVIRONS: EnvironSource = {
  has: () => false,
  hasBelow: () => false,
  namesBelow: () => [],
  segmentsBelow: () => [],
  cached: () => undefined,
  fetch: async () => new Map()
}

/** A root that is exactly the given data, as the package has it: no reserved names, members in their own order. */
export class DataRoot extends LazyNode {
  readonly path = ''
  readonly #data: JsonObject

  constructor (data: JsonObject) {
    super()
    this.#data = data
  }

  field (name: string): Value {
    return Object.hasOwn(this.#data, name) ? this.#data[name] as Json : new Absent(name)
  }

  keys (): readonly string[] {
    return Object.keys(this.#data)
  }

  read (): Json {
    return this.#data
  }
}

/** A run in which consuming an absent value is no miss: it is empty, as in the package. */
class TolerantRun extends Run {
  override miss (): Pending {
    return NOTHING as unknown as Pending
  }
}

/** Partials by name, as source texts. */
export type Partials = Readonly<Record<string, string>>

/** Links every partial reference to a compiled partial, and every function to a tool of that name. */
export function linkTo (template: Template, partials: ReadonlyMap<string, LinkedPartial>, tools: ReadonlyMap<string, LinkedTool> = new Map()): (Link | undefined)[] {
  return template.references.map(({ kind, name }) => kind.endsWith('partial') ? partials.get(name) : tools.get(name))
}

export function compilePartials (texts: Partials, tools?: ReadonlyMap<string, LinkedTool>): ReadonlyMap<string, LinkedPartial> {
  const linked = new Map<string, LinkedPartial>()
  for (const [id, text] of Object.entries(texts)) {
    let template: Template | undefined
    const compiled = () => (template ??= handlebarsLanguage.compile({ text }))
    let links: readonly (Link | undefined)[] | undefined
    linked.set(id, {
      kind: 'partial',
      id,
      template: compiled,
      get links () { return (links ??= linkTo(compiled(), linked, tools)) },
      root: outer => outer
    })
  }
  return linked
}

/** Renders with our engine under the package's rules for what is absent. */
export function renderTolerantly (text: string, data: JsonObject, partials: Partials): string {
  const template = handlebarsLanguage.compile({ text })
  const run = new TolerantRun({ environs: NO_ENVIRONS, now: new Date(0), limits: DEFAULT_LIMITS })
  const root = new DataRoot(data)
  // The data itself is the context, since a lazy node gives its members in another order.
  return template.render(run, { links: linkTo(template, compilePartials(partials)), root, dot: data })
}

// It warns of prototype members, of which the cases are full.
Handlebars.logger.level = 3

/** Renders with the handlebars package, objects and lists printing as JSON. */
export function renderWithPackage (text: string, data: JsonObject, partials: Partials): string {
  const instance = Handlebars.create()
  instance.registerHelper('raw', function (this: unknown, options: Handlebars.HelperOptions) { return options.fn(this) })
  const compile = (source: string) => instance.compile(source) as LazyTemplate
  for (const [name, source] of Object.entries(partials)) instance.registerPartial(name, compiledEarly(compile(source)))
  const template = compile(text)
  template._setup({})
  // Escaped and back again: with `noEscape`, the package adds numbers that stand next to each other.
  return unescape(printingJson(() => template(data)))
}

const ENTITIES: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#x27;': "'", '&#x60;': '`', '&#x3D;': '=' }

function unescape (text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#x27|#x60|#x3D);/g, entity => ENTITIES[entity] as string)
}

/** The package compiles a template when it is first used; its compiler needs arrays that print as they do. */
type LazyTemplate = Handlebars.TemplateDelegate<JsonObject> & { _setup: (options: object) => void }

function compiledEarly (template: LazyTemplate): LazyTemplate {
  try {
    template._setup({})
  } catch {
    // A partial with a mistake is one only where it is called.
  }
  return template
}

/** The package prints an object by its `toString`, also the ones that it makes itself: for the time of a render, that is JSON. */
function printingJson (render: () => string): string {
  const methods = [Object.prototype, Array.prototype].map(prototype => ({ prototype, original: Object.getOwnPropertyDescriptor(prototype, 'toString') as PropertyDescriptor }))
  const toString = { configurable: true, writable: true, value (this: unknown) { return JSON.stringify(this) } }
  for (const { prototype } of methods) Object.defineProperty(prototype, 'toString', toString)
  try {
    return render()
  } finally {
    for (const { prototype, original } of methods) Object.defineProperty(prototype, 'toString', original)
  }
}
