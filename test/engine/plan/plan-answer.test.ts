import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc, { type Arbitrary } from 'fast-check'
import { isProblem, parsePlan } from '../../../src/engine/plan/parse-plan.ts'
import { property } from '../../helpers/property.ts'

// The two schemas of answers say what the parser takes: the narrow one, which models are held to, and the full one (P-01).

const read = (name: string) => readFileSync(`jsonschema/${name}.json`, 'utf8')
const ajv = new Ajv2020({ strict: false })
const isFull = ajv.compile(JSON.parse(read('plan-answer')) as object)
const isNarrow = ajv.compile(JSON.parse(read('plan-response')) as object)

/** A changed schema needs a new version, and its hash beside it. */
const HASHES: Readonly<Record<number, string>> = {
  1: '6719e31e02f0e0569076318820f91bc9d9a03902a1333841ce53b0934b6d6c2e'
}

/** A member that is there or not, null, as it should be, or something else. */
const member = (good: Arbitrary<unknown>): Arbitrary<unknown> => fc.oneof({ weight: 6, arbitrary: good }, { weight: 1, arbitrary: fc.constantFrom<unknown>(null, 'x', 1, 1.5, true, [], {}, [1]) })

const text = fc.constantFrom('', 'a', 'src/a.js')
const object = (members: Readonly<Record<string, Arbitrary<unknown>>>): Arbitrary<unknown> => fc.record(Object.fromEntries(Object.entries(members).map(([name, good]) => [name, member(good)])), { requiredKeys: [] })
const actions = fc.array(member(object({ kind: fc.constantFrom('CREATE_FILE', 'CREATE_DIR', 'UPDATE_FILE', 'DELETE_FILE', 'DELETE_DIR', 'RENAME'), path: text, content: text })), { maxLength: 3 })
const requests = fc.array(member(object({ type: fc.constantFrom('read_file', 'search', 'logs', 'env', 'ls'), path: text, query: text, source: text, glob: text, start_line: fc.integer(), end_line: fc.integer(), last_n: fc.integer() })), { maxLength: 3 })
const answer = fc.oneof(
  { weight: 1, arbitrary: actions },
  { weight: 3, arbitrary: object({ actions, proposed_changes: object({ actions }), summary: text, context_requests: requests, memory_patch: fc.constant({}), mode: text, questions: fc.constant(['x']), more: text }) }
)

describe('an answer to a plan', () => {
  property('is taken exactly when plan-answer.json allows it', 5000, given => {
    const taken = { yes: 0, no: 0 }
    given.holds(fc.property(answer, made => {
      const isTaken = !isProblem(parsePlan(JSON.stringify(made), 1))
      taken[isTaken ? 'yes' : 'no']++
      assert.equal(isFull(made), isTaken)
    }))
    given.wasOfUse(taken.yes, 0.1)
    given.wasOfUse(taken.no, 0.1)
  })

  it('that plan-response.json allows is allowed by plan-answer.json', () => {
    const strict = { actions: [{ kind: 'DELETE_FILE', path: 'a', content: null }], summary: null, context_requests: [{ type: 'env', path: null, start_line: null, end_line: null, query: null, glob: null, source: null, last_n: null }], memory_patch: null }
    assert.deepEqual([isNarrow(strict), isFull(strict)], [true, true])
  })

  it('has a schema of the version that its hash belongs to', () => {
    const { x_schema_version: version } = JSON.parse(read('plan-answer')) as { readonly x_schema_version: number }
    assert.equal(createHash('sha256').update(read('plan-answer')).digest('hex'), HASHES[version])
  })
})
