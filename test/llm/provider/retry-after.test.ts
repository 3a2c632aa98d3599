import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseRetryAfter } from '../../../src/llm/judge-reply.ts'

describe('parseRetryAfter', () => {
  const now = Date.parse('2026-11-21T10:00:00Z')
  const cases: readonly [headers: Record<string, string>, expected: number | undefined][] = [
    [{}, undefined],
    [{ 'retry-after': '2' }, 2000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': ' 7 ' }, 7000],
    [{ 'retry-after': 'Sat, 21 Nov 2026 10:00:05 GMT' }, 5000],
    [{ 'retry-after': 'Sat, 21 Nov 2026 09:00:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '' }, undefined],
    [{ 'retry-after': '99999999999999999999' }, undefined],
    [{ 'retry-after-ms': '20', 'retry-after': '1' }, 20],
    [{ 'retry-after-ms': 'x', 'retry-after': '1' }, 1000]
  ]
  for (const [headers, expected] of cases) {
    it(`reads ${JSON.stringify(headers)} as ${expected}`, () => {
      assert.equal(parseRetryAfter(headers, now), expected)
    })
  }
})
