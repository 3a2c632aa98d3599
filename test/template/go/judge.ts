import { type Json } from '../../../src/base/json.ts'
import { LazyNode, type Value } from '../../../src/template/value.ts'
import { RenderError, type Template, TemplateSyntaxError } from '../../../src/template/language.ts'
import { joined } from '../trace/joined.ts'
import { Trace } from '../../../src/template/explain/trace.ts'
import { Run } from '../../../src/template/run/run.ts'
import { createGoLanguage } from '../../../src/template/go/create-go-language.ts'
import { GO_RULES, type GoRules } from '../../../src/template/go/rules.ts'
import { toBytes } from '../../../src/template/go/value/bytes.ts'
import { goFloat, type GoValue } from '../../../src/template/go/value/go-value.ts'
import { SAMPLE_FUNCTIONS } from './sample-functions.ts'

/** One recorded case of Go's text/template; see the vectors' own description. */
export interface Vector {
  readonly id: string
  readonly template: string
  readonly data: Json
  readonly since?: string
  readonly options?: { readonly missingkey?: 'default' | 'invalid' | 'zero' | 'error', readonly numbers?: 'float64' }
  readonly want?: string
  readonly wantBase64?: string
  readonly wantError?: 'parse' | 'exec'
  readonly message?: string
}

/** How a case went: `isRight` about output or kind of error, `hasMessage` about an error's text, if one was wanted. */
export interface Verdict {
  readonly id: string
  readonly isRight: boolean
  readonly hasMessage: boolean | undefined
  readonly expected: string
  readonly got: string
  /** What the same gives when it is explained, its spans joined. */
  readonly explained: string
}

/** What a template gave, in a form that can be compared. */
type Outcome = { readonly kind: 'text', readonly text: string } | { readonly kind: 'parse' | 'exec', readonly message: string }

const NO_LIMITS = { visits: Infinity, output: Infinity, depth: Infinity, calls: 0, environs: Infinity }
const MAX_INT = (1n << 63n) - 1n

/** Runs one case with Go's own rules. */
export function judge (vector: Vector): Verdict {
  const outcome = run(vector)
  const got = described(outcome)
  const explained = described(run(vector, new Trace()))
  const expected = vector.wantError === undefined ? vector.want ?? '' : `${vector.wantError}: ${vector.message}`
  if (vector.wantError !== undefined) {
    return { id: vector.id, isRight: outcome.kind === vector.wantError, hasMessage: outcome.kind !== 'text' && asUtf8(outcome.message) === vector.message, expected, got, explained }
  }
  return { id: vector.id, isRight: outcome.kind === 'text' && hasOutput(vector, outcome.text), hasMessage: undefined, expected, got, explained }
}

function described (outcome: Outcome): string {
  return outcome.kind === 'text' ? outcome.text : `${outcome.kind}: ${outcome.message}`
}

function hasOutput ({ want, wantBase64 }: Vector, text: string): boolean {
  if (wantBase64 !== undefined) return Buffer.from(toBytes(text)).toString('base64') === wantBase64
  return asUtf8(text) === want
}

/** A text as it reads once its bytes have gone through UTF-8. */
function asUtf8 (text: string): string {
  return Buffer.from(toBytes(text)).toString('utf8')
}

function run (vector: Vector, trace?: Trace): Outcome {
  let template: Template
  try {
    template = createGoLanguage({ name: 't', declared: SAMPLE_FUNCTIONS, rules: rulesOf(vector) }).compile({ text: vector.template, explain: trace !== undefined })
  } catch (error) {
    if (!(error instanceof TemplateSyntaxError)) throw error
    return { kind: 'parse', message: error.message }
  }
  try {
    const run = new Run({ environs: NO_ENVIRONS, now: new Date(0), limits: NO_LIMITS, trace })
    const text = template.open(run, { links: [], root: new NoRoot() })(dataOf(vector))
    trace?.endText()
    return { kind: 'text', text: trace === undefined ? text : joined(trace) }
  } catch (error) {
    if (!(error instanceof RenderError)) throw error
    return { kind: 'exec', message: error.message }
  }
}

function rulesOf ({ options, since }: Vector): GoRules {
  const missingKey = options?.missingkey ?? 'invalid'
  // The cases are Go 1.23's, unless they say that they need a later one.
  const rangeOverIntegers = since !== undefined && Number(since.split('.')[1]) >= 24
  return { ...GO_RULES, missingKey: missingKey === 'default' ? 'invalid' : missingKey, rangeOverIntegers }
}

function dataOf ({ data, options }: Vector): Value {
  return convert(data, options?.numbers === 'float64' ? value => goFloat(Number(value)) : toGoNumber) as Value
}

function toGoNumber (value: number | bigint): GoValue {
  return typeof value === 'bigint' && (value > MAX_INT || value < -MAX_INT - 1n) ? Number(value) : value
}

function convert (value: Json, number: (value: number | bigint) => GoValue): GoValue {
  if (typeof value === 'number' || typeof value === 'bigint') return number(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(element => convert(element as Json, number))
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, convert(member as Json, number)]))
}

const NO_ENVIRONS = {
  has: () => false,
  hasBelow: () => false,
  namesBelow: () => [],
  segmentsBelow: () => [],
  cached: () => undefined,
  fetch: async () => new Map<string, never>()
}

/** Go's templates have no scope root. */
class NoRoot extends LazyNode {
  readonly path = ''
  field (): never {
    throw new Error('a vector read the scope root')
  }

  keys (): readonly string[] {
    return []
  }

  read (): Json {
    return {}
  }
}
