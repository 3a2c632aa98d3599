import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ReconnectPace } from '../../src/tool/mcp/mcp-http-transport.ts'

describe('the pace at which a stream is opened again', () => {
  it('slows down while streams end at once, up to a minute', () => {
    let now = 0
    const pace = new ReconnectPace(() => now)
    const delays = Array.from({ length: 12 }, () => {
      const delay = pace.next()
      now += delay + 1
      return delay
    })
    assert.deepEqual(delays, [0, 0, 0, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
  })

  it('begins anew after a stream that lasted', () => {
    let now = 0
    const pace = new ReconnectPace(() => now)
    for (let stream = 0; stream < 5; stream++) now += pace.next() + 1
    now += 5000
    assert.equal(pace.next(), 0)
  })
})
