import { type Json, type JsonObject, listOf } from '../../base/json.ts'
import { compileSchemaLater, SchemaError } from '../../schema/compile.ts'
import { type Diagnostic, RejectedEntry } from '../diagnostic.ts'
import { entrySchema, lintFields } from '../entries/entry-schemas.ts'
import { checkPromptId } from '../link/references.ts'
import { decodeJson, type Kind } from './entry-kind.ts'
import { TESTS } from './release-kind.ts'

const SCHEMA = entrySchema('tests')

const JUDGE = 'evaluator.judge'

const NOT = 'not-'

type AssertionKind = 'equals' | 'contains' | 'icontains' | 'starts-with' | 'regex' | 'is-json' | 'latency' | 'llm-rubric'

export interface Assertion {
  readonly kind: AssertionKind
  readonly isNegated: boolean
  readonly value?: Json
  /** In ms for a latency, a score for a rubric. */
  readonly threshold?: number
}

export interface TestCase {
  readonly description: string
  readonly run: 'render' | 'chat'
  readonly variables: JsonObject
  /** `stub`, `live`, or the name of a file with recorded calls. */
  readonly tools: string
  readonly model?: string
  readonly judge: string
  readonly assertions: readonly Assertion[]
}

interface GivenCase extends Partial<Pick<TestCase, 'description' | 'run' | 'tools' | 'model' | 'judge'>> {
  readonly vars?: JsonObject
  readonly variables?: JsonObject
  readonly assert?: ReadonlyArray<{ readonly type: string, readonly value?: Json, readonly threshold?: number }>
}

/** @throws RejectedEntry when they break `jsonschema/tests.json`, or the schema of an `is-json` cannot be used */
export function parseTests (value: Json): readonly TestCase[] {
  SCHEMA.check(value, () => misspelt(value))
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
  return listOf(value).flatMap((each, index) => lintFields(each, SCHEMA.fields, [index]))
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

/** Stored under `shenma:tests:*`; not in snapshots, so a change of a test changes no revision. */
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

export function withoutPrompt (id: string): Diagnostic {
  return { severity: 'warning', code: 'PROMPT_UNKNOWN', message: `there is no prompt "${id}" that these tests could be of` }
}
