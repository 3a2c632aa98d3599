import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type JsonObject } from '../../src/base/json.ts'
import { type Answer, AnswerReader } from '../../src/llm/answer.ts'
import { askedMessage, loggedAnswer, parseArguments, replyOf, strictMessages } from '../../src/llm/history.ts'
import { jsonIn } from '../../src/llm/json-in.ts'
import { judgeReply } from '../../src/llm/judge-reply.ts'
import { createFrameParser } from '../../src/llm/frame.ts'
import { StreamJudge } from '../../src/llm/frame.ts'
import { UpstreamError } from '../../src/llm/upstream-error.ts'
import { MODEL_ANSWERS, type ModelAnswer, OFFERED, streamOf } from '../helpers/model-answers.ts'
import { property } from '../helpers/property.ts'

const REQUEST: JsonObject = { tools: OFFERED }

/** Reads an answer as the client of a model's API does: whole, or from the bytes of its stream in some pieces. */
function read (given: ModelAnswer, pieces?: readonly Buffer[]): Answer | UpstreamError {
  const reader = new AnswerReader(REQUEST)
  try {
    if (pieces === undefined && given.whole !== undefined) {
      const body = Buffer.from(JSON.stringify(given.whole))
      reader.add(judgeReply({ status: 200, headers: {}, body }, given.door === undefined ? 'choices' : 'data', text => text).value)
      return reader.answer()
    }
    const parser = createFrameParser(1_000_000, text => text)
    const judge = new StreamJudge(1)
    const frames = [...(pieces ?? [Buffer.from(streamOf(given))]).flatMap(piece => [...parser.feed(piece)]), ...parser.finish()]
    for (const frame of frames) {
      judge.judge(frame)
      if (frame.kind === 'chunk') reader.add(frame.chunk)
    }
    if (!judge.isDone && !judge.isFinished) throw new UpstreamError('broke off', { retryable: false })
    return reader.answer()
  } catch (error) {
    if (error instanceof UpstreamError) return error
    throw error
  }
}

function check ({ reads }: ModelAnswer, answer: Answer | UpstreamError): void {
  if (reads.error !== undefined) {
    assert.ok(answer instanceof UpstreamError)
    assert.ok(reads.error === '*' || answer.message.includes(reads.error), answer.message)
    if (reads.retried === true) assert.equal(answer.retryable, true)
    return
  }
  assert.ok(!(answer instanceof UpstreamError), String(answer))
  const { text, thoughts, refusal, cut } = answer
  if (reads.text !== undefined) assert.equal(text, reads.text)
  if (reads.thoughts !== undefined) assert.equal(thoughts, reads.thoughts)
  assert.equal(refusal, reads.refusal ?? '')
  assert.equal(cut, reads.cut === true)
  if (reads.json !== undefined) assert.deepEqual((jsonIn(text) as { value: unknown }).value, reads.json)
  if (!cut) checkCalls(reads, answer)
}

function checkCalls (reads: ModelAnswer['reads'], answer: Answer): void {
  const { calls } = answer
  assert.deepEqual(calls.map(({ name, arguments: given }) => [name, parseArguments(given)]).map(([name, given]) => [name, typeof given === 'string' ? 'broken' : given]), (reads.calls ?? []).map(call => [call.name, call.broken === true ? 'broken' : call.arguments]))
  for (const [index, { id = '*' }] of (reads.calls ?? []).entries()) assert.ok(id === '*' ? calls[index]?.id !== '' : calls[index]?.id === id)
  assert.equal(new Set(calls.map(({ id }) => id)).size, calls.length)
  const [message] = strictMessages([askedMessage(answer)]) as [JsonObject]
  const called = ((message['tool_calls'] ?? []) as ReadonlyArray<{ readonly type: string, readonly function: { readonly arguments: string } }>)[0]
  const { arguments: sent, reasoning_content: reasoning } = typeof reads.sentBack === 'object' ? reads.sentBack : {}
  if (sent !== undefined) assert.equal(called?.function.arguments, sent)
  if (reasoning !== undefined) assert.equal(message['reasoning_content'], reasoning)
}

describe('answers of models', () => {
  for (const given of MODEL_ANSWERS) {
    it(`are read: ${given.id}`, () => {
      check(given, read(given))
      if (given.door === undefined) check(given, read(given, [Buffer.from(streamOf(given))]))
    })
  }

  property('are read the same however their stream is cut', 200, async given => {
    await given.comesToHold(fc.asyncProperty(fc.constantFrom(...MODEL_ANSWERS.filter(({ door }) => door === undefined)), fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 }), async (answer, lengths) => {
      const bytes = Buffer.from(streamOf(answer))
      const pieces: Buffer[] = []
      for (let start = 0, turn = 0; start < bytes.length; turn++) {
        const length = lengths[turn % lengths.length] as number
        pieces.push(bytes.subarray(start, start += length))
      }
      assert.deepEqual(plain(read(answer, pieces)), plain(read(answer, [bytes])))
    }))
  })

  property('have the same texts and thoughts however they come in chunks, and show them as they come', 300, async given => {
    const texts = fc.array(fc.constantFrom('<think>', '</think>', '<thinking>', '</thinking>', ' ', '\n', 'a', 'Hello', '🦄', '<', '</', 'think>', '\n</think>', 'x'.repeat(60), ' '.repeat(60)), { maxLength: 12 }).map(parts => parts.join(''))
    await given.comesToHold(fc.asyncProperty(texts, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 }), async (text, lengths) => {
      const whole = new AnswerReader()
      whole.add({ choices: [{ delta: { content: text } }] })
      const { text: said, thoughts } = whole.answer()
      const reader = new AnswerReader()
      let shown = ''
      for (let start = 0, turn = 0; start < text.length; turn++) {
        const length = lengths[turn % lengths.length] as number
        const added = reader.add({ choices: [{ delta: { content: text.slice(start, start += length) } }] }).text
        assert.ok(added.isWellFormed())
        shown += added
      }
      const answer = reader.answer()
      assert.deepEqual([answer.text, answer.thoughts], [said, thoughts])
      if (!/(?:^|\n)<\/think>/.test(text)) assert.ok(said.startsWith(shown))
    }))
  })

  it('have thoughts whose beginning stood in the model\'s template', () => {
    const answer = read({ id: '', whole: { choices: [{ message: { content: 'First a.\nThen b.\n</think>\n\n[CMD] ls' }, finish_reason: 'stop' }] }, reads: {} }) as Answer
    assert.deepEqual([answer.thoughts, answer.text], ['First a.\nThen b.\n', '[CMD] ls'])
  })

  it('keep a word of thoughts that stands in the text', () => {
    const text = 'Write <think> in front and </think> behind.'
    assert.equal((read({ id: '', whole: { choices: [{ message: { content: text }, finish_reason: 'stop' }] }, reads: {} }) as Answer).text, text)
  })

  it('end what is larger than 8 Mi characters', () => {
    const reader = new AnswerReader()
    const piece = { choices: [{ delta: { content: 'x'.repeat(5 * 1024 * 1024) } }] }
    reader.add(piece)
    assert.throws(() => reader.add(piece), { name: 'UpstreamError', message: 'the answer is larger than 8388608 characters' })
  })

  it('end with more than 1000 calls', () => {
    const reader = new AnswerReader()
    const calls = Array.from({ length: 1001 }, (_, index) => ({ index, id: `c${index}`, function: { name: 'find', arguments: '{}' } }))
    assert.throws(() => reader.add({ choices: [{ delta: { tool_calls: calls } }] }), { name: 'UpstreamError', message: 'the answer has more than 1000 calls' })
  })

  it('keep lists of thoughts that come in pieces', () => {
    const reader = new AnswerReader()
    const piece = { choices: [{ delta: { reasoning_details: new Array(300_000).fill({ text: 'a' }) } }] } as unknown as JsonObject
    reader.add(piece)
    assert.equal((reader.answer().reasoning['reasoning_details'] as unknown[]).length, 300_000)
  })

  interface Piece { readonly index?: number, readonly id?: string, readonly function?: { readonly name?: string, readonly arguments?: string } }
  const begin = (name: string, text: string) => ({ name, arguments: text })
  const more = (text: string) => ({ arguments: text })
  const twoCalls: ReadonlyArray<readonly [title: string, pieces: readonly Piece[]]> = [
    ['an index of their own', [{ index: 0, id: 'a', function: begin('one', '{"x"') }, { index: 1, id: 'b', function: begin('two', '{') }, { index: 0, function: more(':1}') }, { index: 1, function: more('}') }]],
    ['no index', [{ id: 'a', function: begin('one', '{"x"') }, { function: more(':1}') }, { id: 'b', function: begin('two', '{') }, { function: more('}') }]],
    ['no index and their id in every piece', [{ id: 'a', function: begin('one', '{"x"') }, { id: 'a', function: more(':1}') }, { id: 'b', function: begin('two', '{') }, { id: 'b', function: more('}') }]],
    ['the index 0 and an id each', [{ index: 0, id: 'a', function: begin('one', '{"x":1}') }, { index: 0, id: 'b', function: begin('two', '{}') }]],
    ['an index and their id in every piece', [{ index: 0, id: 'a', function: begin('one', '{"x"') }, { index: 1, id: 'b', function: begin('two', '{') }, { index: 0, id: 'a', function: more(':1}') }, { index: 1, id: '', function: more('}') }]]
  ]
  for (const [title, pieces] of twoCalls) {
    it(`have two calls apart that have ${title}`, () => {
      const reader = new AnswerReader()
      for (const piece of pieces) reader.add({ choices: [{ index: 0, delta: { tool_calls: [piece] } }] } as unknown as JsonObject)
      assert.deepEqual(reader.answer().calls, [{ id: 'a', name: 'one', arguments: '{"x":1}' }, { id: 'b', name: 'two', arguments: '{}' }])
    })
  }

  it('have two calls apart that have the index 0 and no ids, and no third for an empty last piece', () => {
    const reader = new AnswerReader()
    for (const [name, text] of [['one', '{"x":1}'], ['two', '{}'], ['two', '']]) reader.add({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: begin(name as string, text as string) }] } }] })
    assert.deepEqual(reader.answer().calls.map(({ name, arguments: text }) => [name, text]), [['one', '{"x":1}'], ['two', '{}']])
  })

  it('are kept in logs with what was read, and read back from them', () => {
    const answer = read({ id: '', whole: { choices: [{ message: { content: '<think>hm</think>Wait', tool_calls: [{ function: { name: 'find', arguments: { q: 'x' } }, extra_content: { google: 'sign' } }] }, finish_reason: 'length' }] }, reads: {} }) as Answer
    const logged = loggedAnswer(replyOf([answer], { id: 'r', choices: null }))
    assert.deepEqual([logged?.text, logged?.calls, logged?.cut, logged?.finishReason], [answer.text, answer.calls, true, 'length'])
  })

  it('of an earlier log are read as the version before did: none is cut, none refuses', () => {
    const logged = loggedAnswer({ choices: [{ message: { content: '<think>a', refusal: 'No' }, finish_reason: 'length' }] })
    assert.deepEqual([logged?.text, logged?.refusal, logged?.cut], ['<think>a', '', false])
  })
})

function plain (answer: Answer | UpstreamError): unknown {
  return answer instanceof UpstreamError ? { error: answer.message } : answer
}
