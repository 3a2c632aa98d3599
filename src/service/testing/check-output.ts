import { describeViolations } from '../../base/errors.ts'
import { canonicalJson, type Json, JsonError, parseJson, stringifyJson } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'
import { type Assertion } from '../../registry/kinds/tests/test-cases.ts'
import { compileSchema, SchemaError } from '../../tool/schema/schema.ts'

/** How much of an output, or of what was looked for, a reason quotes, in characters. */
const QUOTED = 200

/** What came out of a prompt. */
export interface Output {
  readonly text: string
  /** How long it took, in ms. */
  readonly durationMs: number
}

/** What became of an assertion. */
export interface Verdict {
  readonly pass: boolean
  /** Why it does not hold, or why it does although it must not; a judge says why either way. */
  readonly reason: string
  /** What a judge gave. */
  readonly score?: number
}

/** Everything but what a model judges. */
export type PlainAssertion = Assertion & { readonly kind: Exclude<Assertion['kind'], 'llm-rubric'> }

/** Something that cannot be looked for, such as a pattern that is none. */
class UnusableAssertion extends Error {}

/** Judges an output. Never throws: what cannot be looked for fails, negated or not. */
export function checkOutput (assertion: PlainAssertion, output: Output): Verdict {
  try {
    const missed = missIn(assertion, output)
    if (!assertion.isNegated) return { pass: missed === undefined, reason: missed ?? '' }
    return missed === undefined ? { pass: false, reason: `expected no ${wanted(assertion)}, got ${found(assertion, output)}` } : { pass: true, reason: '' }
  } catch (error) {
    if (error instanceof UnusableAssertion) return { pass: false, reason: error.message }
    throw error
  }
}

/** Why an output is not what is looked for; `undefined` when it is. @throws UnusableAssertion */
function missIn (assertion: PlainAssertion, output: Output): string | undefined {
  const { kind, value = '', threshold = 0 } = assertion
  const { text } = output
  if (kind === 'is-json') return missInJson(assertion, text)
  const holds = {
    equals: () => isEqual(value, text),
    contains: () => text.includes(String(value)),
    icontains: () => text.toLowerCase().includes(String(value).toLowerCase()),
    'starts-with': () => text.startsWith(String(value)),
    // A schema runs patterns in linear time, whoever wrote them.
    regex: () => violationsIn({ type: 'string', pattern: value }, text) === undefined,
    latency: () => output.durationMs <= threshold
  }[kind]()
  return holds ? undefined : `expected ${wanted(assertion)}, got ${found(assertion, output)}`
}

/** A value that is no text is compared as JSON, however it is written. */
function isEqual (value: Json, text: string): boolean {
  if (typeof value === 'string') return value === text
  const read = readJson(text)
  return 'json' in read && canonicalJson(read.json) === canonicalJson(value)
}

function missInJson ({ value }: PlainAssertion, text: string): string | undefined {
  const read = readJson(text)
  if ('problem' in read) return `expected JSON, got ${quoted(text)}: ${read.problem}`
  return value === undefined ? undefined : violationsIn(value, read.json)
}

/** @throws UnusableAssertion */
function violationsIn (schema: Json, value: Json): string | undefined {
  try {
    const violations = compileSchema(schema).validate(value, 'output')
    return violations.length === 0 ? undefined : describeViolations(violations)
  } catch (error) {
    throw error instanceof SchemaError ? new UnusableAssertion(error.message) : error
  }
}

function readJson (text: string): { readonly json: Json } | { readonly problem: string } {
  try {
    return { json: parseJson(text) }
  } catch (error) {
    if (error instanceof JsonError) return { problem: error.reason }
    throw error
  }
}

function wanted ({ kind, value = '', threshold = 0 }: PlainAssertion): string {
  const text = beginningOf(typeof value === 'string' ? JSON.stringify(value) : stringifyJson(value), QUOTED)
  return {
    equals: text,
    contains: text,
    icontains: `${text} in any case`,
    'starts-with': `${text} at the beginning`,
    regex: `a match of ${text}`,
    'is-json': value === '' ? 'JSON' : 'JSON of that schema',
    latency: `answer within ${threshold} ms`
  }[kind]
}

function found ({ kind }: PlainAssertion, { text, durationMs }: Output): string {
  return kind === 'latency' ? `one after ${durationMs} ms` : quoted(text)
}

function quoted (text: string): string {
  return JSON.stringify(beginningOf(text, QUOTED)) + (text.length > QUOTED ? '…' : '')
}
