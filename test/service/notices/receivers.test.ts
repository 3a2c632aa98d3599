import assert from 'node:assert/strict'
import { type ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { Webhook, WebhookVerificationError } from 'standardwebhooks'
import { type NoticeReceiver } from '../../../src/config/operator.ts'
import { sendNotice } from '../../../src/service/notices/receivers.ts'
import { createHttpAgent } from '../../../src/tool/connections.ts'
import { createEgress, type EgressOptions, SYSTEM_TLS } from '../../../src/tool/egress.ts'
import { startNoticeServer } from '../../helpers/notice-receiver.ts'
import { shared } from '../../helpers/shared.ts'

const [OLD, NEW] = [Buffer.alloc(32, 7), Buffer.alloc(24, 8)]
const NOTICE = { id: 'msg_1', type: 'label.moved', at: 0, words: 'a <b> & c', link: 'https://example.com/console/', data: { label: 'production', note: undefined } }
const server = shared(startNoticeServer)

async function send (t: TestContext, { path = '/', host, egress = {}, now = Date.now(), patience, ...receiver }: {
  readonly path?: string
  readonly host?: string
  readonly egress?: Partial<EgressOptions>
  readonly now?: number
  readonly patience?: number
} & Partial<NoticeReceiver> = {}) {
  const agent = createHttpAgent(createEgress({ mode: 'internal', allow: [], ...egress }), SYSTEM_TLS, {})
  t.after(() => agent.close())
  const { url } = await server()
  const to = { name: 'ops', url: `${host === undefined ? url : url.replace('127.0.0.1', host)}${path}`, format: 'standard' as const, secrets: [OLD], kinds: [], owners: undefined, definitions: undefined, files: [], ...receiver }
  const { milliseconds, ...sent } = await sendNotice(to, agent, NOTICE, new AbortController().signal, now, patience)
  assert.ok(Number.isInteger(milliseconds))
  return sent
}

describe('a notice', () => {
  it('is signed so that the library of the scheme takes it, by its id and the time of the attempt', async t => {
    const { received, refused } = await server()
    assert.deepEqual(await send(t, { path: '/hook?k=1' }), { status: 204 })
    const { headers, path, text, body } = received.at(-1) ?? assert.fail()
    assert.deepEqual([path, headers['webhook-id'], headers['content-type'], refused], ['/hook?k=1', 'msg_1', 'application/json', []])
    assert.deepEqual(body, { type: 'label.moved', timestamp: '1970-01-01T00:00:00.000Z', data: { label: 'production', link: 'https://example.com/console/' } })
    const wrong = new Webhook(NEW.toString('base64'))
    assert.throws(() => wrong.verify(text, headers as Record<string, string>), WebhookVerificationError)
    assert.throws(() => new Webhook(OLD.toString('base64')).verify(text.replace('production', 'staging'), headers as Record<string, string>), WebhookVerificationError)
  })

  it('is signed with each secret of a receiver that changes it', async t => {
    await send(t, { secrets: [NEW, OLD] })
    const { headers, text } = (await server()).received.at(-1) ?? assert.fail()
    for (const secret of [NEW, OLD]) assert.ok(new Webhook(secret.toString('base64')).verify(text, headers as Record<string, string>))
  })

  it('of another time is refused by the library', async t => {
    await send(t, { now: Date.now() - 3_600_000 })
    assert.match((await server()).refused.at(-1) ?? '', /timestamp too old/)
  })

  it('has in Slack\'s form a text with a link, and no signature', async t => {
    await send(t, { format: 'slack', secrets: [] })
    const { headers, body } = (await server()).received.at(-1) ?? assert.fail()
    assert.deepEqual([body, Object.keys(headers).filter(name => name.startsWith('webhook'))], [{ text: 'a &lt;b&gt; &amp; c <https://example.com/console/|Open>' }, []])
  })
})

describe('an answer', () => {
  const answers: ReadonlyArray<readonly [what: string, answer: (reply: ServerResponse) => void, sent: object, patience?: number]> = [
    ['of 200 with a page is a success', reply => reply.end('<p>ok</p>'), { status: 200 }],
    ['of 200 that never ends is a success', reply => { reply.writeHead(200).write('x') }, { status: 200 }, 2000],
    ['that never comes is a failure', () => {}, { problem: 'had not answered after 200 ms' }, 200],
    ['that redirects is a failure, and not followed', reply => reply.writeHead(307, { location: '/elsewhere' }).end(), { status: 307, problem: 'answered with a redirect (307), which is not followed' }],
    ['of 500 has its words', reply => reply.writeHead(500).end('no\n room'), { status: 500, problem: 'answered with status 500', quote: 'no room' }],
    ['of 502 with a page has none', reply => reply.writeHead(502).end('<html>Bad gateway'), { status: 502, problem: 'answered with status 502' }],
    ['of 400 is cut', reply => reply.writeHead(400).end('x'.repeat(100_000)), { status: 400, problem: 'answered with status 400', quote: 'x'.repeat(200) }],
    ['of 410 is one', reply => reply.writeHead(410).end(), { status: 410, problem: 'answered with status 410' }],
    ['that is broken off is a failure', reply => reply.socket?.destroy(), { problem: 'could not be reached: UND_ERR_SOCKET' }]
  ]
  for (const [what, answer, sent, patience] of answers) {
    it(what, async t => {
      const notices = await server()
      const before = notices.answer
      t.after(() => { notices.answer = before })
      notices.answer = answer
      const asked = notices.received.length
      assert.deepEqual(JSON.parse(JSON.stringify(await send(t, patience === undefined ? {} : { patience }))), JSON.parse(JSON.stringify(sent)))
      assert.equal(notices.received.length, asked + 1)
    })
  }

  it('comes from no address that egress refuses, whatever the name led to before', async t => {
    const asked = (await server()).received.length
    const refusal = '127.0.0.1 (loopback), which the egress policy refuses'
    assert.deepEqual(await send(t, { egress: { mode: 'strict' } }), { problem: `leads to ${refusal}` })
    assert.deepEqual(await send(t, { host: 'hooks.example', egress: { mode: 'strict', resolve: (_host, done) => { done(null, [{ address: '127.0.0.1', family: 4 }]) } } }), { problem: `hooks.example resolves to ${refusal}` })
    assert.equal((await server()).received.length, asked)
  })
})
