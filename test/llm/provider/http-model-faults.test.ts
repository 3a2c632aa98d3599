import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import { ServiceError } from '../../../src/base/errors.ts'
import { createModelClient } from '../../helpers/model-client.ts'
import { UpstreamRefusal } from '../../../src/llm/upstream-error.ts'
import { followScript, readScripts, type ScriptedReply, timeoutsFor } from '../../helpers/upstream-script.ts'
import { startUpstream } from '../../helpers/upstream-server.ts'
import { quietLog } from '../../helpers/quiet-log.ts'

interface Expected {
  readonly hits: number
  readonly content?: string
  readonly code?: string
  /** Default 502. */
  readonly status?: number
  readonly reason?: string
  readonly refusal?: number
  readonly body?: object
  readonly retryAfter?: string
  readonly waits?: readonly number[]
}

const REQUEST = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hi' }] }
const KEY = 'sk-test-key'

/** Calls an upstream that follows a script; what happened is data. */
async function callScripted (t: TestContext, replies: readonly ScriptedReply[]) {
  const upstream = await startUpstream(followScript(replies))
  const waits: number[] = []
  const logged: unknown[] = []
  const client = createModelClient({
    baseUrl: upstream.baseUrl,
    apiKey: KEY,
    maxReplyBytes: 1024 * 1024,
    timeouts: timeoutsFor(replies),
    retry: { delays: [100, 300], wait: async milliseconds => { waits.push(milliseconds) } },
    log: quietLog({ warn: (...line) => logged.push(line) })
  })
  t.after(async () => {
    await upstream.close()
    await client.close()
  })
  const outcome = await client.ask({ kind: 'chat', request: REQUEST, call: { signal: new AbortController().signal, requestId: 'request-1' } })
    .then(reply => ({ reply }), (error: unknown) => ({ error }))
  return { outcome, upstream, waits, logged }
}

describe('an upstream in trouble', () => {
  for (const script of readScripts<Expected>('json')) {
    it(`answers as documented to ${script.title}`, async t => {
      const { expected } = script
      const { outcome, upstream, waits } = await callScripted(t, script.replies)

      assert.equal(upstream.hits.length, expected.hits)
      if (expected.waits !== undefined) assert.deepEqual(waits, expected.waits)
      if ('reply' in outcome) {
        const [choice] = outcome.reply.value['choices'] as unknown as [{ message: { content: string } }]
        assert.equal(choice.message.content, expected.content)
      } else if (expected.refusal !== undefined) {
        assert.ok(outcome.error instanceof UpstreamRefusal, String(outcome.error))
        assert.deepEqual({ refusal: outcome.error.status, body: outcome.error.body }, { refusal: expected.refusal, body: expected.body })
      } else {
        assert.ok(outcome.error instanceof ServiceError, String(outcome.error))
        assert.deepEqual({ code: outcome.error.code, status: outcome.error.statusCode }, { code: expected.code, status: expected.status ?? 502 })
        assert.ok(outcome.error.message.includes(expected.reason ?? ''), outcome.error.message)
        assert.equal(outcome.error.headers?.['x-should-retry'], 'false')
        assert.equal(outcome.error.headers?.['retry-after'], expected.retryAfter)
      }
    })
  }

  it('never prints the key into errors or logs', async t => {
    const { outcome, logged } = await callScripted(t, [{ status: 500, pieces: [`{"error":"${KEY}"}`], end: 'whole' }])
    assert.ok('error' in outcome)
    assert.ok(logged.length > 0)
    assert.ok(!inspect([outcome, logged], { depth: 20, showHidden: true }).includes(KEY))
  })

  for (const [what, body, answer] of [
    ['as it is', '<h1>Oh no</h1>', '<h1>Oh no</h1>'],
    ['cut', 'x'.repeat(1000), 'x'.repeat(500)],
    ['without the key', `no ${KEY}`, 'no [secret]'],
    ['without the key in the escapes of JSON', JSON.stringify({ error: KEY }).replace('sk-', '\\u0073k-'), '{"error":"[secret]"}'],
    ['without the key where it is cut', `${'x'.repeat(495)}${KEY}`, `${'x'.repeat(495)}[secr`]
  ] as const) {
    it(`keeps the answer of a failure for the log, ${what}`, async t => {
      const { outcome, logged } = await callScripted(t, [{ status: 500, pieces: [body] }])
      assert.deepEqual((logged as Array<[{ err: { answer: string } }]>).map(([{ err }]) => err.answer), [answer, answer, answer])
      assert.equal((outcome as { error: ServiceError }).error.message, 'The model gave no usable answer in 3 attempts; provider "default": the upstream answered with status 500')
    })
  }
})
