import Handlebars from 'handlebars'
import { type Link, type LinkedPartial, type Template } from '../../../src/template/language.ts'
import { handlebarsLanguage } from '../../../src/template/handlebars/handlebars-language.ts'
import { DEFAULT_LIMITS, type EnvironSource, RenderRun } from '../../../src/template/run.ts'
import { type LinkedTool } from '../../../src/template/template-function.ts'
import { type Trace } from '../../../src/template/trace.ts'
import { type Json, type JsonObject } from '../../../src/base/json.ts'
import { Absent, LazyNode, NOTHING, type Pending, type Value } from '../../../src/template/value.ts'

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
  readonly path = 'data'
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
class TolerantRun extends RenderRun {
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
    let plain: Template | undefined
    let explained: Template | undefined
    const compiled = () => (plain ??= handlebarsLanguage.compile({ text }))
    let links: readonly (Link | undefined)[] | undefined
    linked.set(id, {
      kind: 'partial',
      id,
      template: explain => explain ? (explained ??= handlebarsLanguage.compile({ text, explain })) : compiled(),
      get links () { return (links ??= linkTo(compiled(), linked, tools)) },
      root: outer => outer
    })
  }
  return linked
}

/** Renders with our engine under the package's rules for what is absent, explained to a trace if there is one. */
export function renderTolerantly (text: string, data: JsonObject, partials: Partials, trace?: Trace): string {
  const template = handlebarsLanguage.compile({ text, explain: trace !== undefined })
  const run = new TolerantRun({ environs: NO_ENVIRONS, now: new Date(0), limits: DEFAULT_LIMITS, trace })
  const root = new DataRoot(data)
  // The data itself is the context, since a lazy node gives its members in another order.
  const output = template.open(run, { links: linkTo(template, compilePartials(partials)), root })(data)
  trace?.endText()
  return output
}

// It warns of prototype members, of which the cases are full.
Handlebars.logger.level = 4

/** Renders with the handlebars package, objects and lists printing as JSON. */
export function renderWithPackage (text: string, data: JsonObject, partials: Partials, prepare?: (instance: typeof Handlebars) => void): string {
  const instance = Handlebars.create()
  prepare?.(instance)
  instance.registerHelper('raw', function (this: unknown, options: Handlebars.HelperOptions) { return options.fn(this) })
  for (const [name, source] of Object.entries(partials)) instance.registerPartial(name, reentrant(() => compile(instance, source)))
  const template = compile(instance, text)
  // Escaped and back again: with `noEscape`, the package adds numbers that stand next to each other.
  return unescape(printingJson(true, () => template(data)))
}

/**
 * Whether a render with the package comes to a block whose value is the context around it, or loosely equal: there it opens no level for `../`, so
 * that what that means depends on data.
 */
export function skipsLevels (text: string, data: JsonObject, partials: Partials): boolean {
  let skips = false
  renderWithPackage(text, data, partials, instance => {
    for (const name of ['each', 'with', 'blockHelperMissing']) {
      const helper = instance.helpers[name] as Handlebars.HelperDelegate
      instance.registerHelper(name, function (this: unknown, value: unknown, options: Handlebars.HelperOptions) {
        const fn = Object.assign((context: unknown, given?: object): string => {
          // eslint-disable-next-line eqeqeq
          skips ||= context == this
          return options.fn(context, given)
        }, options.fn)
        return helper.call(this, value, { ...options, fn })
      })
    }
  })
  return skips
}

/** The package compiles a template when it is first used, and its compiler needs lists that print as they do. */
function compile (instance: typeof Handlebars, source: string): Handlebars.TemplateDelegate {
  const template = instance.compile(source) as Handlebars.TemplateDelegate & { _setup: (options: object) => void }
  printingJson(false, () => template._setup({}))
  return template
}

/**
 * A partial that may run within itself. One template of the package may not: what it keeps of the inner run's inline
 * partials is in force for the rest of the outer one.
 */
function reentrant (compile: () => Handlebars.TemplateDelegate): Handlebars.TemplateDelegate {
  const copies: Handlebars.TemplateDelegate[] = []
  let depth = 0
  return (context, options) => {
    // A partial without end: the copies would fill the memory before the stack is full.
    if (depth === 30) throw new Error('a partial calls itself without end')
    const copy = (copies[depth] ??= compile())
    depth++
    const output = copy(context, options)
    depth--
    return output
  }
}

/** The package prints an object by its `toString`, also the ones that it makes itself: for the time of a render, that is JSON. */
function printingJson<T> (wanted: boolean, work: () => T): T {
  const before = [Object.prototype, Array.prototype].map(prototype => ({ prototype, toString: prototype.toString }))
  const json = function (this: unknown) { return JSON.stringify(this) }
  const setToString = (prototype: object, value: () => string) => Object.defineProperty(prototype, 'toString', { configurable: true, writable: true, value })
  for (const { prototype } of before) setToString(prototype, wanted ? json : ORIGINAL.get(prototype) as () => string)
  try {
    return work()
  } finally {
    for (const { prototype, toString } of before) setToString(prototype, toString)
  }
}

const ORIGINAL: ReadonlyMap<object, () => string> = new Map([
  [Object.prototype, Object.prototype.toString],
  [Array.prototype, Array.prototype.toString]
])

const ENTITIES: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#x27;': "'", '&#x60;': '`', '&#x3D;': '=' }

function unescape (text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#x27|#x60|#x3D);/g, entity => ENTITIES[entity] as string)
}
