import type { Json, JsonObject } from '../../base/json.ts'
import { isObject } from '../../template/value.ts'
import { compileSchemaLater, SchemaError } from '../../tool/schema/schema.ts'
import { type Diagnostic, RejectedEntry } from '../diagnostic.ts'
import { checkWithFields, entrySchema, lintFields } from '../entries/entry-schemas.ts'
import { checkPromptId } from '../link/references.ts'
import { decodeJson, type Kind } from './entry-kind.ts'
import { TESTS } from './release-kind.ts'

const SCHEMA = entrySchema('tests')

/** The prompt by which a model judges an output, for a test that names no other. */
const JUDGE = 'evaluator.judge'

const NOT = 'not-'

/** The kinds of conditions that a test can set on an output. */
type AssertionKind = 'equals' | 'contains' | 'icontains' | 'starts-with' | 'regex' | 'is-json' | 'latency' | 'llm-rubric'

/** One condition that the output of a prompt must meet in a test. */
export interface Assertion {
  readonly kind: AssertionKind
  /** Whether the output must not meet the condition. */
  readonly isNegated: boolean
  /** The value to compare with; left out for a condition that compares with nothing. */
  readonly value?: Json
  /** The limit: in ms for a latency, a score for a rubric. */
  readonly threshold?: number
}

/** One test of a prompt, with its defaults filled in. */
export interface TestCase {
  /** The description; empty where the author gives none. */
  readonly description: string
  readonly run: 'render' | 'chat'
  readonly variables: JsonObject
  /** Where the results of the prompt's tools come from: `stub`, `live`, or the name of a file with recorded calls. */
  readonly tools: string
  /** The model of a chat; left out for the prompt's own model. */
  readonly model?: string
  /** The id of the prompt by which a model judges the output. */
  readonly judge: string
  readonly assertions: readonly Assertion[]
}

/** One test of a prompt as its author writes it. */
interface GivenCase extends Partial<Pick<TestCase, 'description' | 'run' | 'tools' | 'model' | 'judge'>> {
  readonly vars?: JsonObject
  readonly variables?: JsonObject
  readonly assert?: ReadonlyArray<{ readonly type: string, readonly value?: Json, readonly threshold?: number }>
}

/**
 * Reads the tests of a prompt.
 * @throws RejectedEntry when they break `jsonschema/tests.json`, or when the value of a condition `is-json` is no usable JSON Schema
 */
export function parseTests (value: Json): readonly TestCase[] {
  checkWithFields(() => { SCHEMA.check(value) }, () => misspelt(value))
  const given = value as readonly GivenCase[]
  const wrong = given.flatMap(unusableSchemas)
  if (wrong.length > 0) throw new RejectedEntry(wrong)
  return given.map(readCase)
}

function readCase ({ description = '', run = 'render', vars, variables = vars ?? {}, tools = 'stub', model, judge = JUDGE, assert = [] }: GivenCase): TestCase {
  return { description, run, variables, tools, judge, ...(model === undefined ? {} : { model }), assertions: assert.map(readAssertion) }
}

function readAssertion ({ type, ...rest }: { readonly type: string, readonly value?: Json, readonly threshold?: number }): Assertion {
  const isNegated = type.startsWith(NOT)
  return { kind: (isNegated ? type.slice(NOT.length) : type) as AssertionKind, isNegated, ...rest }
}

function misspelt (value: Json): Diagnostic[] {
  const cases = Array.isArray(value) ? value as readonly Json[] : []
  return cases.flatMap((each, index) => isObject(each) ? lintFields(each as JsonObject, SCHEMA.fields, [index]) : [])
}

function unusableSchemas ({ assert = [] }: GivenCase, index: number): Diagnostic[] {
  return assert.flatMap(({ type, value }, at): Diagnostic[] => {
    if (!type.endsWith('is-json') || value === undefined) return []
    try {
      compileSchemaLater(value)
      return []
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error
      const message = `${index}.assert.${at}.value is no usable JSON Schema: ${error.message}`
      return [{ severity: 'error', code: 'SCHEMA', message, field: [index, 'assert', at, 'value'] }]
    }
  })
}

/**
 * The kind of entries that are lists of tests, one list for each prompt, stored under `shenma:tests:*` with the prompt's id. They are read from the
 * store for each request and are not in the registry's snapshots: so a change of a test changes no revision.
 */
export const testsKind: Kind = {
  key: TESTS,
  name: 'tests',
  noun: 'list of tests',
  reading: 'asked',
  access: 'prompts',
  decode: decodeJson,
  normalise: value => value,
  async check ({ id, text }) {
    checkPromptId(id)
    parseTests(decodeJson(text).value)
    return []
  }
}

/** The warning that tests have been stored for a prompt that does not exist. */
export function withoutPrompt (id: string): Diagnostic {
  return { severity: 'warning', code: 'PROMPT_UNKNOWN', message: `there is no prompt "${id}" that these tests could be of` }
}
