import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ANYONE } from '../../../../src/access/caller.ts'
import { type Json, type JsonObject } from '../../../../src/base/json.ts'
import { type Frame } from '../../../../src/llm/frame.ts'
import { UpstreamError, UpstreamRefusal } from '../../../../src/llm/upstream-error.ts'
import { type CountedModels } from '../../../../src/service/chat/models.ts'
import { askModelWith } from '../../../../src/service/sessions/perform-model.ts'
import { type ModelEffect } from '../../../../src/session/model.ts'
import { type Outcome } from '../../../../src/session/effects.ts'
import { type Session } from '../../../../src/session/session.ts'
import { answerWith } from '../../../engine/dialogue.ts'

const EFFECT: ModelEffect = { id: '2.0', kind: 'llm', purpose: 'turn', messages: [{ role: 'user', content: 'Hi' }], fields: {}, timeout: 1000, live: true }

function chunk (content: string): Frame {
  const value = { choices: [{ index: 0, delta: { content } }] }
  return { kind: 'chunk', chunk: value, data: JSON.stringify(value), bytes: Buffer.alloc(0) }
}

const DONE: Frame = { kind: 'done', bytes: Buffer.alloc(0) }
const BROKEN: Frame = { kind: 'error', error: new UpstreamError('cut', { retryable: false }), bytes: Buffer.alloc(0) }

/** Asks models that answer one after the other: frames, a whole reply, or a refusal. */
async function ask (answers: ReadonlyArray<readonly Frame[] | JsonObject | Error>, effect: Partial<ModelEffect> = {}, isAgain = false): Promise<{ outcome: Outcome, told: JsonObject[], asked: Array<[string, Json | undefined]> }> {
  const [told, asked]: [JsonObject[], Array<[string, Json | undefined]>] = [[], []]
  const models = {
    async ask ({ kind, request }: { kind: string, request: JsonObject }) {
      const answer = answers[asked.length]
      asked.push([kind, request['stream']])
      if (answer instanceof Error) throw answer
      if (!Array.isArray(answer)) return { value: answer, usage: { inputTokens: 1, outputTokens: 1 } }
      const frames = answer as readonly Frame[]
      return { frames: (async function * () { yield frames })(), counted: Promise.resolve({ usage: { inputTokens: 7, outputTokens: 3 }, cost: 2_500 }) }
    }
  } as unknown as CountedModels
  const session = { id: 's1', start: { definition: 'agents/a' }, open: new Map([['2.0', { effect: EFFECT, phase: 'begun', ...(isAgain ? { isAgain } : {}) }]]) } as unknown as Session
  const outcome = await askModelWith(models)({ session, effect: { ...EFFECT, ...effect }, caller: ANYONE, signal: new AbortController().signal, activity: undefined, publish: live => { told.push(live) } })
  return { outcome, told, asked }
}

const said = (content: string, outcome: Outcome): void => {
  assert.ok(outcome.kind === 'result')
  assert.equal(JSON.stringify(outcome.result).includes(`"content":${JSON.stringify(content)}`), true)
}

describe('An answer that is followed', () => {
  it('is told in parts while it is written, and is whole in the result with what it has used', async () => {
    const { outcome, told, asked } = await ask([[chunk('Hel'), chunk('lo.'), DONE]])
    said('Hello.', outcome)
    assert.deepEqual([told, asked], [[{ type: 'llm.delta', effect: '2.0', text: 'Hel' }, { type: 'llm.delta', effect: '2.0', text: 'lo.' }], [['frames', true]]])
    assert.deepEqual(outcome.kind === 'result' ? outcome.usage : undefined, { input: 7, output: 3, usd: 0.0000025 })
  })

  it('begins anew when it breaks off, and its followers are told', async () => {
    const { outcome, told } = await ask([[chunk('x'.repeat(300 * 1024)), BROKEN], [chunk('Hello.'), DONE]])
    said('Hello.', outcome)
    assert.deepEqual(told.slice(1), [{ type: 'llm.reset', effect: '2.0' }, { type: 'llm.delta', effect: '2.0', text: 'Hello.' }])
  })

  it('is a failure when each attempt breaks off', async () => {
    const { outcome, asked } = await ask([[BROKEN], [BROKEN], [chunk('a')]])
    assert.deepEqual([outcome, asked.length], [{ kind: 'failure', code: 'LLM_UPSTREAM', message: 'the answer broke off' }, 3])
  })

  it('is told from its beginning when another process had begun it', async () => {
    const { told } = await ask([[chunk('Hello.'), DONE]], {}, true)
    assert.deepEqual(told, [{ type: 'llm.reset', effect: '2.0' }, { type: 'llm.delta', effect: '2.0', text: 'Hello.' }])
  })

  it('is told up to 256 Ki characters', async () => {
    const { outcome, told } = await ask([[chunk('x'.repeat(200 * 1024)), chunk('y'.repeat(200 * 1024)), chunk('z'), DONE]])
    said(`${'x'.repeat(200 * 1024)}${'y'.repeat(200 * 1024)}z`, outcome)
    assert.equal(told.reduce((sum, { text }) => sum + String(text).length, 0), 256 * 1024)
  })

  it('is asked for as a whole where an API refuses streams', async () => {
    const refusal = new UpstreamRefusal(400, { error: { message: 'stream is not supported by this model' } })
    const { outcome, asked } = await ask([refusal, answerWith({ content: 'Hello.' }) as JsonObject])
    said('Hello.', outcome)
    assert.deepEqual(asked, [['frames', true], ['chat', undefined]])
  })

  it('is given up when nothing comes for too long', async () => {
    const models = { ask: ({ call }: { call: { signal: AbortSignal } }) => new Promise((_resolve, reject) => { call.signal.addEventListener('abort', () => { reject(new Error('aborted')) }) }) } as unknown as CountedModels
    const session = { id: 's1', start: { definition: 'agents/a' }, open: new Map() } as unknown as Session
    const outcome = await askModelWith(models)({ session, effect: { ...EFFECT, timeout: 20 }, caller: ANYONE, signal: new AbortController().signal, activity: undefined, publish () {} })
    assert.deepEqual(outcome, { kind: 'failure', code: 'TIMEOUT', message: 'no answer within 20 ms' })
  })
})

describe('An answer of a form', () => {
  const returns = { type: 'object', properties: { owner: { type: 'string' } }, required: ['owner'] }
  const cases = [
    ['fits', '{"owner":"ann"}', { value: { owner: 'ann' } }],
    ['does not fit', '{"owner":1}', { problem: 'answer.owner must be string, not 1' }],
    ['is no JSON', 'Ann', { problem: /^answer is not JSON/ }]
  ] as const
  for (const [title, content, expected] of cases) {
    it(`is checked, and ${title}`, async () => {
      const { outcome } = await ask([answerWith({ content }) as JsonObject], { live: false, returns })
      assert.ok(outcome.kind === 'result')
      const { value, problem } = outcome.result as JsonObject
      if ('value' in expected) assert.deepEqual(value, expected.value)
      else assert.match(String(problem), expected.problem instanceof RegExp ? expected.problem : /answer\.owner/)
    })
  }

  it('is none yet while the model calls tools', async () => {
    const { outcome } = await ask([answerWith({ content: null, tool_calls: [{ id: '1' }] }) as JsonObject], { live: false, returns })
    assert.ok(outcome.kind === 'result')
    assert.deepEqual(Object.keys(outcome.result as JsonObject), ['read', 'choices'])
  })
})

describe('A refusal for the length of the input', () => {
  it('has a code of its own', async () => {
    const { outcome } = await ask([new UpstreamRefusal(400, { error: { message: 'This model\'s maximum context length is 8192 tokens', code: 'context_length_exceeded' } })], { live: false, fields: { tools: [] } })
    assert.equal(outcome.kind === 'failure' ? outcome.code : '', 'INPUT_TOO_LONG')
  })
})
