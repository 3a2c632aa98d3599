import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runInNewContext } from 'node:vm'
import { redactHeaders } from '../../../src/llm/http-model.ts'

describe('redactHeaders', () => {
  const cases: ReadonlyArray<readonly [headers: Record<string, string>, text: string, expected: string]> = [
    [{ authorization: 'Bearer sk-1' }, 'Incorrect key sk-1, came as Bearer sk-1', 'Incorrect key [secret], came as Bearer [secret]'],
    [{ authorization: 'Token hunter2' }, 'hunter2 is none', '[secret] is none'],
    [{ authorization: 'Digest a="b", c="d"' }, 'Digest a="b", c="d"', '[secret]'],
    [{ 'ocp-apim-subscription-key': '0123456789abcdef' }, '0123456789abcdef', '[secret]'],
    [{ 'api-key': 'a/b+c' }, 'a\\/b\\u002bc, a\\u002Fb+c, a\\\\/b\\\\u002bc', '[secret], [secret], [secret]'],
    [{ 'x-team': 'search' }, 'no search for you', 'no search for you'],
    [{ 'api-key': 'abc', 'x-api-key': 'abcdef' }, 'abcdef and abc', '[secret] and [secret]'],
    [{ 'api-key': '' }, 'all of it', 'all of it'],
    [{ 'api-key': '$&.*' }, 'a$&.*b', 'a[secret]b']
  ]
  for (const [headers, text, expected] of cases) {
    it(`makes "${expected}" of "${text}" for ${JSON.stringify(headers)}`, () => {
      assert.equal(redactHeaders(Object.entries(headers))(text), expected)
    })
  }

  it('reads a long run of backslashes once', () => {
    const redact = redactHeaders([['api-key', 'abcdefgh']])
    const text = '\\'.repeat(300_000)
    // From each of them on, this would take minutes; the limit only keeps such a failure short.
    assert.equal(runInNewContext('redact(text)', { redact, text }, { timeout: 10_000 }), text)
  })
})
