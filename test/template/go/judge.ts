import { type Json } from '../../../src/base/json.ts'
import { ServiceError } from '../../../src/base/errors.ts'
import { Trace } from '../../../src/template/trace.ts'
import { createGoLanguage } from '../../../src/template/go/go-language.ts'
import { RenderError, type Template, TemplateSyntaxError } from '../../../src/template/language.ts'
import { joined } from '../trace/joined.ts'
import { SAMPLE_TOOLS } from './sample-tools.ts'
import { frameOf, StrictRun } from './workbench.ts'

/** One recorded case of Go's text/template. */
export interface Vector {
  readonly id: string
  readonly template: string
  readonly data: Json
  readonly options?: { readonly missingkey?: 'default' | 'invalid' | 'zero' | 'error', readonly numbers?: 'float64' }
  readonly want?: string
  readonly wantError?: 'parse' | 'exec'
  readonly message?: string
}

/** How a case went. */
export interface Verdict {
  readonly vector: Vector
  /** What Go gave: a text, or `parse: ` or `exec: ` with the reason of the error. */
  readonly expected: string
  /** What the service gives, in the same form; `missing: `, `link: ` or the code of an error that Go does not have. */
  readonly got: string
  /** What the service gives when the template is explained, its spans joined. */
  readonly explained: string
}

/** What Go's messages have before the reason: the template, the line, and for a render what it was doing. */
const PLACE = /^template: [^:]*(?::\d+)*: (?:executing ".*?" at (?=<))?/s

const language = createGoLanguage(new Map())
const WORLD = { tools: SAMPLE_TOOLS, limits: { calls: 10_000 } }

/** Runs one case as the service would, its sample functions as tools. */
export function judge (vector: Vector): Verdict {
  const { want = '', wantError, message = '' } = vector
  const expected = wantError === undefined ? want : `${wantError}: ${message.replace(PLACE, '')}`
  return { vector, expected, got: renderVector(vector), explained: renderVector(vector, new Trace()) }
}

function renderVector ({ template: text, data }: Vector, trace?: Trace): string {
  let template: Template
  try {
    template = language.compile({ text, explain: trace !== undefined })
  } catch (error) {
    if (!(error instanceof TemplateSyntaxError)) throw error
    return `parse: ${error.message}`
  }
  const unknown = template.references.filter(({ kind, name }) => kind === 'partial' || !Object.hasOwn(SAMPLE_TOOLS, name))
  if (unknown.length > 0) return `link: ${unknown.map(({ name }) => name).join(', ')}`
  const run = new StrictRun(WORLD, trace)
  const outcome = outcomeOf(run, template, data, trace)
  return run.misses.length === 0 ? outcome : `missing: ${run.misses.map(({ path }) => path).join(', ')}`
}

function outcomeOf (run: StrictRun, template: Template, data: Json, trace: Trace | undefined): string {
  try {
    const text = template.open(run, frameOf(template, WORLD, run))(data)
    trace?.endText()
    return trace === undefined ? text : joined(trace)
  } catch (error) {
    if (error instanceof RenderError) return `exec: ${error.message}`
    if (error instanceof ServiceError) return error.code
    throw error
  }
}
