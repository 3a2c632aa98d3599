import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseTraceparent } from '../../src/observe/activity.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const good = `00-${traceId}-b7ad6b7169203331-01`

describe('parseTraceparent', () => {
  it('reads a trace context', () => {
    assert.deepEqual(parseTraceparent(good), { traceparent: good, traceId })
  })

  it('leaves out what a later version adds', () => {
    assert.equal(parseTraceparent(`cc-${traceId}-b7ad6b7169203331-01-what-the-future-brings`)?.traceparent, good)
  })

  const strange = [
    ['nothing', undefined],
    ['several', [good, good]],
    ['an empty text', ''],
    ['capital letters', good.toUpperCase()],
    ['a trace of zeros', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`],
    ['a span of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['version ff', `ff${good.slice(2)}`],
    ['flags that go on', `${good}0`],
    ['a line break', `${good}\r\nx: y`]
  ] as const
  for (const [what, header] of strange) {
    it(`takes no notice of ${what}`, () => {
      assert.equal(parseTraceparent(header as string | string[] | undefined), undefined)
    })
  }
})
