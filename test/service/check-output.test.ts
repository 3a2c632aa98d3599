import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Json } from '../../src/base/json.ts'
import { type PlainAssertion, checkOutput } from '../../src/service/prompt-tests.ts'

const OUTPUT = { text: 'Say hello to Ada.', durationMs: 12 }

function check (type: string, value?: Json, { text = OUTPUT.text, threshold }: { readonly text?: string, readonly threshold?: number } = {}) {
  const isNegated = type.startsWith('not-')
  const assertion = { kind: type.replace('not-', ''), isNegated, ...(value === undefined ? {} : { value }), ...(threshold === undefined ? {} : { threshold }) } as PlainAssertion
  return checkOutput(assertion, { ...OUTPUT, text })
}

const HOLDS: ReadonlyArray<readonly [type: string, value: Json | undefined, more?: { readonly text?: string, readonly threshold?: number }]> = [
  ['equals', 'Say hello to Ada.'], ['equals', { b: 1, a: [2] }, { text: '{ "a": [2], "b": 1.0 }' }], ['contains', 'hello'], ['icontains', 'HELLO'], ['starts-with', 'Say'], ['regex', 'to \\w+\\.$'],
  ['is-json', undefined, { text: '[1]' }], ['is-json', { type: 'object', required: ['score'] }, { text: '{"score": 1}' }], ['latency', undefined, { threshold: 12 }]
]

const FAILS: ReadonlyArray<readonly [type: string, value: Json | undefined, reason: string, more?: { readonly text?: string, readonly threshold?: number }]> = [
  ['equals', 'Say', 'expected "Say", got "Say hello to Ada."'],
  ['equals', { a: 1 }, 'expected {"a":1}, got "Say hello to Ada."'],
  ['contains', 'Bob', 'expected "Bob", got "Say hello to Ada."'],
  ['icontains', 'bob', 'expected "bob" in any case, got "Say hello to Ada."'],
  ['starts-with', 'hello', 'expected "hello" at the beginning, got "Say hello to Ada."'],
  ['regex', '^hello', 'expected a match of "^hello", got "Say hello to Ada."'],
  ['is-json', undefined, 'expected JSON, got "{\\"a\\":": it ends too early', { text: '{"a":' }],
  ['is-json', { type: 'object', required: ['score'] }, 'output.score is required', { text: '{}' }],
  ['latency', undefined, 'expected answer within 5 ms, got one after 12 ms', { threshold: 5 }]
]

describe('An assertion', () => {
  for (const [type, value, more] of HOLDS) {
    it(`${type} ${JSON.stringify(value) ?? ''} holds, and its opposite does not`, () => {
      assert.deepEqual(check(type, value, more), { pass: true, reason: '' })
      const negated = check(`not-${type}`, value, more)
      assert.equal(negated.pass, false)
      assert.match(negated.reason, /^expected no /)
    })
  }

  for (const [type, value, reason, more] of FAILS) {
    it(`${type} ${JSON.stringify(value) ?? ''} fails, says why, and its opposite holds`, () => {
      const failed = check(type, value, more)
      assert.equal(failed.pass, false)
      assert.ok(failed.reason.startsWith(reason.split(': it ends')[0] as string), failed.reason)
      assert.deepEqual(check(`not-${type}`, value, more), { pass: true, reason: '' })
    })
  }

  it('with a pattern that is none fails either way', () => {
    for (const type of ['regex', 'not-regex']) {
      const { pass, reason } = check(type, '(')
      assert.equal(pass, false)
      assert.match(reason, /pattern "\("/)
    }
  })

  it('with a pattern that would backtrack without end is done at once', { timeout: 20_000 }, () => {
    assert.equal(check('regex', '^(a+)+$', { text: `${'a'.repeat(50_000)}b` }).pass, false)
  })

  it('quotes the beginning of a long output', () => {
    const { reason } = check('contains', 'x', { text: 'y'.repeat(10_000) })
    assert.ok(reason.length < 300 && reason.endsWith('"…'), reason)
  })
})
