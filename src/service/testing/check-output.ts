import { describeViolations } from '../../base/errors.ts'
import { canonicalJson, type Json, JsonError, parseJson, stringifyJson } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'
import { type Assertion } from '../../registry/kinds/tests/test-cases.ts'
import { compileSchema, SchemaError } from '../../tool/schema/schema.ts'

/** The most characters of an output, or of an expected value, that the reason of a failure quotes. */
const QUOTED = 200

/** The output of a prompt that is tested: its rendered text, or the answer of its model. */
export interface Output {
  readonly text: string
  /** How long the render or the model took, in ms. */
  readonly durationMs: number
}

/** The verdict on one assertion of a test case. */
export interface Verdict {
  readonly pass: boolean
  /** The reason why the assertion fails. A model that judges gives a reason in any case. */
  readonly reason: string
  /** The score that a judging model gave. */
  readonly score?: number
}

/** An assertion that the service checks itself, without asking a model to judge. */
export type PlainAssertion = Assertion & { readonly kind: Exclude<Assertion['kind'], 'llm-rubric'> }

/** The error for an assertion that cannot be checked, such as one with an invalid pattern. */
class UnusableAssertion extends Error {}

/** Checks an output against an assertion. It never throws: an assertion that cannot be checked fails, negated or not. */
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

/** The reason why an output does not meet an assertion; `undefined` if it does. @throws UnusableAssertion */
function missIn (assertion: PlainAssertion, output: Output): string | undefined {
  const { kind, value = '', threshold = 0 } = assertion
  const { text } = output
  if (kind === 'is-json') return missInJson(assertion, text)
  const holds = {
    equals: () => isEqual(value, text),
    contains: () => text.includes(String(value)),
    icontains: () => text.toLowerCase().includes(String(value).toLowerCase()),
    'starts-with': () => text.startsWith(String(value)),
    // The pattern is checked by a JSON schema, which matches patterns in linear time, whoever wrote them.
    regex: () => violationsIn({ type: 'string', pattern: value }, text) === undefined,
    latency: () => output.durationMs <= threshold
  }[kind]()
  return holds ? undefined : `expected ${wanted(assertion)}, got ${found(assertion, output)}`
}

/** Whether an output equals the expected value. A value that is no text is compared as JSON, where white space and the order of members do not count. */
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

/** How a value violates a JSON schema, in words; `undefined` if it does not. @throws UnusableAssertion when the schema is invalid */
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
