import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { EventScanner, type ServerSentEvent } from '../../src/runtime/server-sent-events.ts'
import { property } from '../helpers/property.ts'

/** Feeds a scanner with a text in pieces of the given lengths, the last of which repeats. */
function scan (bytes: Buffer, lengths: readonly number[], limit = 1000): ServerSentEvent[] {
  const scanner = new EventScanner(limit, event => event)
  const events: ServerSentEvent[] = []
  let start = 0
  for (let piece = 0; start < bytes.length; piece++) {
    const end = start + (lengths[Math.min(piece, lengths.length - 1)] ?? 1)
    events.push(...scanner.feed(bytes.subarray(start, end)))
    start = end
  }
  events.push(...scanner.finish())
  return events
}

const line = fc.oneof(
  fc.string({ unit: 'grapheme' }).map(text => `data: ${text.replaceAll(/[\r\n]/g, '')}`),
  fc.constantFrom('', '', '', 'data', 'data:', 'data:x', 'event: error', ': comment', 'id: 7', 'retry: 10')
)
const stream = fc.record({
  lines: fc.array(line, { maxLength: 12 }),
  ends: fc.array(fc.constantFrom('\n', '\r', '\r\n'), { minLength: 1, maxLength: 4 }),
  mark: fc.boolean(),
  lengths: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 })
}).map(({ lines, ends, mark, lengths }) => ({
  bytes: Buffer.from((mark ? '\uFEFF' : '') + lines.map((text, index) => text + ends[index % ends.length]).join('')),
  lengths
}))

describe('EventScanner', () => {
  property('reads what eventsource-parser reads, wherever the bytes are cut', 2000, given => {
    given.holds(fc.property(stream, ({ bytes, lengths }) => {
      const expected: { name: string, data: string }[] = []
      const parser = createParser({ onEvent: event => expected.push({ name: event.event ?? '', data: event.data }) })
      parser.feed(new TextDecoder().decode(bytes))
      parser.feed('\n\n')
      const read = scan(bytes, lengths).flatMap(({ name, data }) => data === undefined ? [] : [{ name, data }])
      assert.deepEqual(read, expected)
    }))
  })

  property('gives every byte back, in order', 2000, given => {
    given.holds(fc.property(stream, ({ bytes, lengths }) => {
      const passed = Buffer.concat(scan(bytes, lengths).map(event => event.bytes)).toString('utf8')
      assert.ok(passed === bytes.toString('utf8') || passed === bytes.toString('utf8') + '\n\n')
    }))
  })

  it('gives an event as soon as its blank line has begun', () => {
    assert.deepEqual([...new EventScanner(100, event => event).feed(Buffer.from('data: x\r\n\r'))].map(event => event.data), ['x'])
  })

  it('names a line that is no field', () => {
    assert.equal(scan(Buffer.from('{"error": 1}\n\n'), [5])[0]?.strangeLine, '{"error": 1}')
  })

  it('refuses an event beyond the limit before it is complete', () => {
    assert.throws(() => scan(Buffer.from('data: ' + 'x'.repeat(2000)), [7]), { message: 'an event of the stream is larger than 1000 bytes' })
  })

  it('takes many events that are together beyond the limit', () => {
    assert.equal(scan(Buffer.from('data: x\n\n'.repeat(1000)), [7]).length, 1000)
  })
})
