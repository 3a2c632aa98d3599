import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Json } from '../../../src/base/json.ts'
import { RejectedEntry } from '../../../src/registry/diagnostic.ts'
import { parseTests } from '../../../src/registry/kinds/tests-kind.ts'

describe('Tests of a prompt', () => {
  it('are read with their defaults', () => {
    const expected = { description: '', run: 'render', variables: {}, tools: 'stub', judge: 'evaluator.judge', assertions: [] }
    assert.deepEqual(parseTests([{}]), [expected])
    assert.deepEqual(parseTests([{ run: 'chat', vars: { a: 1 }, model: 'm', assert: [{ type: 'not-contains', value: 'x' }] }]), [
      { ...expected, run: 'chat', variables: { a: 1 }, model: 'm', assertions: [{ kind: 'contains', isNegated: true, value: 'x' }] }
    ])
  })

  const mistakes: ReadonlyArray<readonly [what: string, tests: Json, message: RegExp]> = [
    ['a list is missing', { vars: {} }, /must be a list/],
    ['a field is misspelt', [{}, { asert: [] }], /1 must not have "asert".*did you mean "assert"/],
    ['variables are given twice', [{ vars: {}, variables: {} }], /0: vars and variables are two names of one thing/],
    ['nothing is looked for', [{ assert: [{ type: 'contains' }] }], /0\.assert\.0 needs "value"/],
    ['an assertion is unknown', [{ assert: [{ type: 'javascript', value: 'x' }] }], /0\.assert\.0\.type must be one of/],
    ['a schema is none', [{ assert: [{ type: 'is-json', value: { type: 'objekt' } }] }], /0\.assert\.0\.value is no usable JSON Schema/]
  ]
  for (const [what, tests, message] of mistakes) {
    it(`are rejected where ${what}`, () => {
      assert.throws(() => parseTests(tests), error => error instanceof RejectedEntry && message.test(error.message))
    })
  }
})
