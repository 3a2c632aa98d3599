import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { EventRelay, type RelayedAs } from '../../../src/llm/http-model.ts'
import { createFrameParser, type Frame, StreamJudge } from '../../../src/llm/frame.ts'
import { type StreamEnd } from '../../../src/llm/model-client.ts'
import { UpstreamError } from '../../../src/llm/upstream-error.ts'
import { property } from '../../helpers/property.ts'

const chunk = (content: string, finish: string | null = null) => `data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`
const WHOLE = Buffer.from([chunk('Hello'), chunk(' wörld 🦄'), ': ping\n\n', chunk('', 'stop'), 'data: {"choices":[],"usage":{"total_tokens":5}}\n\n', 'data: [DONE]\n\n'].join(''))

/** Plays pieces and an end into a relay, as an exchange does; gives what the reader got. */
async function play (pieces: readonly Buffer[], end: 'clean' | 'reset', as: RelayedAs = 'bytes') {
  const ends: StreamEnd[] = []
  const failures: unknown[] = []
  const exchange = { abort: (reason: unknown) => relay.fail(reason), resume: () => {}, progressed: () => {} }
  const relay: EventRelay = new EventRelay(as, exchange, createFrameParser(10_000, text => text), new StreamJudge(1), {
    begun: () => {},
    failed: error => failures.push(error),
    ended: end => ends.push(end)
  })
  try {
    for (const piece of pieces) relay.data(piece)
    if (end === 'clean') relay.end()
    else relay.fail(new UpstreamError('reset', { retryable: true }))
  } catch (error) {
    relay.fail(error)
  }
  if (failures.length > 0) return { text: '', kinds: [], ends, failures }
  const read = await relay.events.toArray() as Buffer[] | Frame[][]
  const frames = as === 'frames' ? (read as Frame[][]).flat() : []
  const bytes = as === 'frames' ? frames.map(frame => frame.bytes) : read as Buffer[]
  return { text: Buffer.concat(bytes).toString('utf8'), kinds: frames.map(({ kind }) => kind), ends, failures }
}

describe('EventRelay', () => {
  property('never passes a cut stream for a whole one', 10_000, async given => {
    const cuts = fc.record({
      cut: fc.integer({ min: 0, max: WHOLE.length }),
      lengths: fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 }),
      end: fc.constantFrom('clean' as const, 'reset' as const)
    })
    const finished = WHOLE.indexOf('"stop"')
    await given.comesToHold(fc.asyncProperty(cuts, async ({ cut, lengths, end }) => {
      const { text, ends, failures } = await play(split(WHOLE.subarray(0, cut), lengths), end)
      if (failures.length === 1) return assert.equal(ends.length, 0)
      assert.equal(ends.length, 1)
      if (text.includes('[DONE]')) {
        assert.ok(cut > finished && text.includes('wörld 🦄') && !text.includes('"error"'))
        assert.equal(ends[0]?.outcome, 'complete')
      } else {
        assert.ok(text.endsWith('"type":"upstream_error","param":null,"code":"LLM_UPSTREAM"}}\n\n'))
        assert.equal(ends[0]?.outcome, 'failed')
      }
    }))
  })

  property('passes the same on as frames, whose last one is the end', 1000, async given => {
    const pieces = fc.record({
      cut: fc.integer({ min: 0, max: WHOLE.length }),
      lengths: fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 }),
      end: fc.constantFrom('clean' as const, 'reset' as const)
    })
    await given.comesToHold(fc.asyncProperty(pieces, async ({ cut, lengths, end }) => {
      const parts = split(WHOLE.subarray(0, cut), lengths)
      const [bytes, frames] = await Promise.all([play(parts, end), play(parts, end, 'frames')])
      assert.deepEqual([frames.text, frames.ends, frames.failures.length], [bytes.text, bytes.ends, bytes.failures.length])
      if (frames.failures.length === 0) assert.equal(frames.kinds.at(-1), frames.text.includes('[DONE]') ? 'done' : 'error')
      assert.ok(frames.kinds.slice(0, -1).every(kind => kind === 'chunk' || kind === 'comment'))
    }))
  })

  it('holds comments until an event follows, all of them in front of it', async () => {
    const comments = Array.from({ length: 3 }, (_, index) => Buffer.from(`: busy ${index}\n\n`))
    assert.deepEqual((await play(comments, 'reset')).failures.length, 1)
    const { text, failures } = await play([...comments, WHOLE], 'clean')
    assert.equal(text, Buffer.concat([...comments, WHOLE]).toString())
    assert.deepEqual(failures, [])
  })

  it('passes no more than 64 KiB of comments on before the first event', async () => {
    const comment = Buffer.from(`: ${'x'.repeat(40 * 1024)}\n\n`)
    const { text, ends } = await play([comment, comment, WHOLE], 'clean')
    assert.equal(text, Buffer.concat([comment, WHOLE]).toString())
    assert.equal((await play([comment, comment], 'reset')).failures.length, 1)
    assert.equal(ends[0]?.outcome, 'complete')
  })

  for (const [as, pieces] of [['bytes', 10], ['frames', 2]] as const) {
    it(`asks to wait when nobody has read ${pieces} pieces of ${as}`, () => {
      const exchange = { abort: () => {}, resume: () => {}, progressed: () => {} }
      const relay = new EventRelay(as, exchange, createFrameParser(10_000, text => text), new StreamJudge(1), { begun: () => {}, failed: () => {}, ended: () => {} })
      const piece = Buffer.from(chunk('x'.repeat(7000)))
      assert.deepEqual(Array.from({ length: pieces }, () => relay.data(piece)), [...Array<boolean>(pieces - 1).fill(true), false])
    })
  }

  it('tells usage, model and length of a whole stream', async () => {
    const { ends } = await play([WHOLE], 'clean')
    assert.deepEqual(ends, [{ outcome: 'complete', model: 'm', usage: { total_tokens: 5 }, bytes: Buffer.byteLength('Hello wörld 🦄') }])
  })

  it('tells why a stream has failed', async () => {
    const { ends } = await play([Buffer.from(chunk('Hel'))], 'reset')
    assert.equal(ends[0]?.error?.message, 'reset')
  })
})

function split (bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const pieces: Buffer[] = []
  for (let start = 0, index = 0; start < bytes.length; index++) {
    const length = lengths[index % lengths.length] ?? 1
    pieces.push(bytes.subarray(start, start + length))
    start += length
  }
  return pieces
}
