import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { wantsEvents } from '../../src/http/sessions/visit-reply.ts'

describe('A caller who sends this as Accept', () => {
  const cases: ReadonlyArray<readonly [accept: string | undefined, expected: boolean]> = [
    ['text/event-stream', true],
    ['Text/Event-Stream; q=0.9, application/json;q=0.5', true],
    ['text/event-stream, */*;q=0.1', true],
    ['application/json, text/event-stream', false],
    ['application/json', false],
    ['text/event-stream;q=0', false],
    ['text/event-stream;q=x', false],
    ['*/*', false],
    ['', false],
    [undefined, false]
  ]
  for (const [accept, expected] of cases) {
    it(`${accept ?? 'nothing'}: ${expected ? 'has events' : 'has JSON'}`, () => {
      assert.equal(wantsEvents(accept), expected)
    })
  }
})
