import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../src/base/json.ts'
import { type ChunkFrame } from '../../src/llm/stream/frame.ts'
import { ReplyAssembler } from '../../src/service/chat/reply-assembler.ts'

interface Piece { readonly index?: number, readonly id?: string, readonly function?: { readonly name?: string, readonly arguments?: string } }

const frame = (delta: object): ChunkFrame => {
  const data = JSON.stringify({ choices: [{ index: 0, delta }] })
  return { kind: 'chunk', chunk: JSON.parse(data) as JsonObject, data }
}
const begin = (name: string, text: string) => ({ name, arguments: text })
const more = (text: string) => ({ arguments: text })

describe('ReplyAssembler', () => {
  it('puts long lists together that come in pieces', () => {
    const assembler = new ReplyAssembler()
    const piece = frame({ details: new Array(300_000).fill(1) })
    assembler.add(piece)
    assembler.add(piece)
    assert.equal((assembler.messages()[0]?.['details'] as unknown as number[]).length, 600_000)
  })

  it('ends what is larger than 8 Mi characters', () => {
    const assembler = new ReplyAssembler()
    const piece = frame({ content: 'x'.repeat(4 * 1024 * 1024) })
    assembler.add(piece)
    assert.throws(() => assembler.add(piece), { name: 'UpstreamError', message: 'the answer is larger than 8388608 characters' })
  })

  const twoCalls: ReadonlyArray<readonly [title: string, pieces: readonly Piece[]]> = [
    ['an index of their own', [{ index: 0, id: 'a', function: begin('one', '{"x"') }, { index: 1, id: 'b', function: begin('two', '{') }, { index: 0, function: more(':1}') }, { index: 1, function: more('}') }]],
    ['no index', [{ id: 'a', function: begin('one', '{"x"') }, { function: more(':1}') }, { id: 'b', function: begin('two', '{') }, { function: more('}') }]],
    ['no index and their id in every piece', [{ id: 'a', function: begin('one', '{"x"') }, { id: 'a', function: more(':1}') }, { id: 'b', function: begin('two', '{') }, { id: 'b', function: more('}') }]],
    ['the index 0 and an id each', [{ index: 0, id: 'a', function: begin('one', '{"x":1}') }, { index: 0, id: 'b', function: begin('two', '{}') }]],
    ['an index and their id in every piece', [{ index: 0, id: 'a', function: begin('one', '{"x"') }, { index: 1, id: 'b', function: begin('two', '{') }, { index: 0, id: 'a', function: more(':1}') }, { index: 1, id: '', function: more('}') }]]
  ]
  for (const [title, pieces] of twoCalls) {
    it(`puts two calls together that have ${title}`, () => {
      const assembler = new ReplyAssembler()
      for (const piece of pieces) assembler.add(frame({ tool_calls: [piece] }))
      assert.deepEqual(assembler.messages(), [{ role: 'assistant', content: null, tool_calls: [{ id: 'a', function: begin('one', '{"x":1}') }, { id: 'b', function: begin('two', '{}') }] }])
    })
  }
})
