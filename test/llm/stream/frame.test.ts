import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createFrameParser, type Frame } from '../../../src/llm/frame.ts'

const KEY = 'sk-secret'

function parse (text: string, limit = 1000): Frame[] {
  const parser = createFrameParser(limit, words => words.replaceAll(KEY, '[secret]'))
  return [...parser.feed(Buffer.from(text)), ...parser.finish()]
}

const sound: ReadonlyArray<readonly [title: string, text: string, frames: readonly object[]]> = [
  ['a chunk, with the text of its JSON', 'data: {"seed":9007199254740993}\n\n', [{ kind: 'chunk', chunk: { seed: Number('9007199254740993') }, data: '{"seed":9007199254740993}' }]],
  ['a chunk whose error is null', 'data: {"error":null}\n\n', [{ kind: 'chunk', chunk: { error: null }, data: '{"error":null}' }]],
  ['a comment', ': ping\n\n', [{ kind: 'comment' }]],
  ['an event without data', 'retry: 10\nid: 7\n\n', [{ kind: 'comment' }]],
  ['the end', 'data: [DONE]\n\n', [{ kind: 'done' }]],
  ['an end without its blank line', 'data: [DONE]\n', [{ kind: 'done' }]],
  ['all events of a piece', 'data: {}\n\n:\n\ndata: [DONE]\n\n', [{ kind: 'chunk', chunk: {}, data: '{}' }, { kind: 'comment' }, { kind: 'done' }]]
]

const unsound: ReadonlyArray<readonly [title: string, text: string, message: string]> = [
  ['an error that is reported', 'data: {"error":{"message":"overloaded"}}\n\n', 'the upstream reported an error: overloaded'],
  ['an error under its own name', 'event: error\ndata: {"message":"overloaded"}\n\n', 'the upstream reported an error: overloaded'],
  ['an error that quotes the key', `data: {"error":"no ${KEY}"}\n\n`, 'the upstream reported an error: no [secret]'],
  ['what is not JSON', 'data: {"choices":\n\n', 'an event is not JSON'],
  ['what is no object', 'data: [1]\n\n', 'an event is not a JSON object'],
  ['what is too deep', `data: {"a":${'['.repeat(101)}${']'.repeat(101)}}\n\n`, 'an event nests deeper than 100'],
  ['a line of no field', '<html>\n\n', 'an event holds a line that is none of the format']
]

describe('a parser of frames', () => {
  for (const [title, text, expected] of sound) {
    it(`reads ${title}`, () => {
      const frames = parse(text)
      assert.deepEqual(frames.map(({ bytes: _, ...frame }) => frame), expected)
      assert.ok(`${text}\n\n`.startsWith(Buffer.concat(frames.map(({ bytes }) => bytes)).toString()))
    })
  }

  it('writes an end anew that has blanks around it', () => {
    assert.deepEqual(parse('data:  [DONE] \n\n'), [{ bytes: Buffer.from('data: [DONE]\n\n'), kind: 'done' }])
  })

  for (const [title, text, message] of unsound) {
    it(`takes ${title} for an error`, () => {
      const [frame] = parse(text)
      assert.ok(frame?.kind === 'error')
      assert.equal(frame.error.message, message)
    })
  }

  it('gives the frames before an event that is too large', () => {
    const frames = createFrameParser(100, text => text).feed(Buffer.from(`: ping\n\ndata: ${'x'.repeat(100)}`))
    assert.equal(frames.next().value?.kind, 'comment')
    assert.throws(() => frames.next(), { message: 'an event of the stream is larger than 100 bytes', retryable: false })
  })
})
