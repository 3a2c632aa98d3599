import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { text } from 'node:stream/consumers'
import { sendLateRequest } from '../../helpers/late-request.ts'
import { type Service, startService } from '../../helpers/service.ts'
import { type AtEnd, shared } from '../../helpers/shared.ts'
import { connectSocket, type SocketWishes } from '../../helpers/socket-client.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'
import { waitFor } from '../../helpers/wait-for.ts'

const AGENT = { mode: 'steps', help: 'Ask me.', classify: { prompt: 'c' }, select: { prompt: 's' }, tools: [] }
const TOKENS = [tokenEntry('ann', 'run'), tokenEntry('bob', 'read'), tokenEntry('eve', 'run:requests=3')].join(',')

async function start (t: AtEnd, environment: Readonly<Record<string, string>> = {}): Promise<Service & { readonly origin: string }> {
  const service = await startService(t, { 'agents:helper': AGENT }, { LLM_BASE_URL: 'builtin:echo', LOG_LEVEL: 'silent', ...environment })
  return { ...service, origin: await service.listen() }
}

/** The status with which a connection is refused. */
async function refusal (t: TestContext, origin: string, wishes: SocketWishes): Promise<string> {
  return await connectSocket(t, origin, wishes).then(() => 'connected', (error: unknown) => (error as Error).message)
}

const started = shared(suite => start(suite))
const startedWithTokens = shared(suite => start(suite, { API_TOKENS: TOKENS }))

describe('A connection to /ws', () => {
  it('is opened by a token in a header, or in a subprotocol, of which the reply names the other', async t => {
    const { origin } = await startedWithTokens()
    assert.equal((await connectSocket(t, origin, { headers: bearer('ann') })).socket.protocol, '')
    assert.equal((await connectSocket(t, origin, { protocols: ['ai-prompt-shell.v1', 'bearer.ann-token'] })).socket.protocol, 'ai-prompt-shell.v1')
  })

  const refused: ReadonlyArray<readonly [string, SocketWishes, string]> = [
    ['no token', {}, 'Unexpected server response: 401'],
    ['an unknown token', { headers: bearer('zoe') }, 'Unexpected server response: 401'],
    ['a token without the role', { headers: bearer('bob') }, 'Unexpected server response: 403'],
    ['a page of another origin, also with a token', { headers: { ...bearer('ann'), origin: 'http://evil.example' } }, 'Unexpected server response: 403']
  ]
  for (const [what, wishes, message] of refused) {
    it(`is refused with ${what}`, async t => {
      const { origin } = await startedWithTokens()
      assert.equal(await refusal(t, origin, wishes), message)
    })
  }

  for (const path of ['/healthz', '/readyz', '/console/', '/api/prompts', '/api/events', '/not/there']) {
    it(`is refused at ${path}: without a token as everywhere, with one since no socket is there`, async t => {
      const { origin } = await startedWithTokens()
      const status = async (headers: Readonly<Record<string, string>>): Promise<string> => await refusal(t, origin, { headers, path })
      assert.deepEqual(await Promise.all([{}, bearer('zoe'), bearer('ann')].map(status)), [401, 401, 404].map(code => `Unexpected server response: ${code}`))
    })
  }

  it('is refused to pages of other origins where no token is asked for', async t => {
    const { origin } = await start(t, { CORS_ORIGINS: 'http://console.example' })
    assert.equal(await refusal(t, origin, { headers: { origin: 'http://evil.example' } }), 'Unexpected server response: 403')
    for (const own of [origin, 'http://console.example']) assert.equal(await refusal(t, origin, { headers: { origin: own } }), 'connected')
  })

  it('is the last of fifty of one caller', async t => {
    const { origin } = await start(t, { API_TOKENS: TOKENS })
    for (let count = 0; count < 50; count++) await connectSocket(t, origin, { headers: bearer('ann') })
    assert.equal(await refusal(t, origin, { headers: bearer('ann') }), 'Unexpected server response: 503')
    assert.equal(await refusal(t, origin, { headers: bearer('eve') }), 'connected')
  })

  it('ends with 1001 when the service goes away', async t => {
    const { origin, app } = await start(t)
    const { socket } = await connectSocket(t, origin)
    const closed = once(socket, 'close') as Promise<[code: number]>
    await app.close()
    assert.equal((await closed)[0], 1001)
  })

  it('is refused by a service that is going away, and does not hold it up', { timeout: 30_000 }, async t => {
    const service = await startService(t, {})
    const reply = await sendLateRequest(t, service, '/ws', 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n')
    assert.match(reply, /^HTTP\/1.1 503 /)
  })
})

describe('A frame', () => {
  for (const frame of ['{', '[]', '"x"', '{}', '{"type":"toString"}', '{"type":1}', '{"type":"subscribe"}', '{"type":"subscribe","sessionId":"x","after":-1}']) {
    it(`that nobody understands is answered, and the connection stays: ${frame}`, async t => {
      const { origin } = await started()
      const client = await connectSocket(t, origin)
      client.send(frame)
      assert.equal(String((await client.next('error'))['code']), 'REQUEST_INVALID')
      assert.equal(client.socket.readyState, client.socket.OPEN)
    })
  }

  it('that is too large ends the connection with 1009', async t => {
    const { origin } = await started()
    const { socket, send } = await connectSocket(t, origin)
    const closed = once(socket, 'close') as Promise<[code: number]>
    send('x'.repeat(300 * 1024))
    assert.equal((await closed)[0], 1009)
  })

  it('counts as a request', async t => {
    const { origin } = await start(t, { API_TOKENS: TOKENS })
    const client = await connectSocket(t, origin, { headers: bearer('eve') })
    for (let count = 0; count < 3; count++) client.send({ type: 'subscribe', sessionId: '0'.repeat(32) })
    const codes = []
    for (let count = 0; count < 3; count++) codes.push(String((await client.next('error'))['code']))
    // The upgrade was the first of three.
    assert.deepEqual(codes, ['SESSION_NOT_FOUND', 'SESSION_NOT_FOUND', 'RATE_LIMITED'])
  })

  for (const type of ['data', 'resize']) {
    it(`of ${type} counts as a request where no terminal takes it`, async t => {
      const { origin } = await start(t, { API_TOKENS: TOKENS })
      const client = await connectSocket(t, origin, { headers: bearer('eve') })
      const codes = []
      for (let count = 0; count < 4; count++) {
        client.send({ type, data: 'x' })
        codes.push(String((await client.next('error'))['code']))
      }
      assert.deepEqual(codes, ['REQUEST_INVALID', 'REQUEST_INVALID', 'RATE_LIMITED', 'RATE_LIMITED'])
    })
  }

  it('of too many that wait ends the connection with 1008', async t => {
    const { origin } = await started()
    const { socket, send } = await connectSocket(t, origin)
    const closed = once(socket, 'close') as Promise<[code: number]>
    for (let count = 0; count < 1000; count++) send({ type: 'subscribe', sessionId: '0'.repeat(32) })
    assert.equal((await closed)[0], 1008)
  })
})

describe('A subscription', () => {
  it('tells what has happened in a session, and what happens', async t => {
    const { origin, post } = await started()
    const id = String((await post('/api/agents/helper/sessions')).json['id'])
    const client = await connectSocket(t, origin)
    client.send({ type: 'subscribe', sessionId: id })
    assert.deepEqual((await client.next('event'))['sessionId'], id)
    await post(`/api/sessions/${id}/cancel`)
    let event = await client.next('event')
    while (String(event['event']) !== 'done') event = await client.next('event')
    assert.equal(String(event['data']?.['status']), 'cancelled')
  })

  it('begins behind the transition that the client names', async t => {
    const { origin, post } = await started()
    const id = String((await post('/api/agents/helper/sessions')).json['id'])
    await post(`/api/sessions/${id}/cancel`)
    const client = await connectSocket(t, origin)
    client.send({ type: 'subscribe', sessionId: id, after: 1 })
    assert.equal(Number((await client.next('event'))['seq']), 2)
  })

  it('ends when the client wants, and can begin anew from anywhere', async t => {
    const { origin, post } = await started()
    const id = String((await post('/api/agents/helper/sessions')).json['id'])
    const client = await connectSocket(t, origin)
    client.send({ type: 'subscribe', sessionId: id })
    const first = await client.next('event')
    client.send({ type: 'unsubscribe', sessionId: id })
    client.send({ type: 'subscribe', sessionId: id })
    const again = await waitFor('the first event again', () => client.frames.filter(({ seq, n }) => seq === first['seq'] && n === first['n'])[1])
    assert.deepEqual(again, first)
  })

  it('to a session of another token is refused as one that does not exist', async t => {
    const { origin, post } = await startedWithTokens()
    const { json } = await post('/api/agents/helper/sessions', undefined, bearer('ann'))
    const client = await connectSocket(t, origin, { headers: bearer('eve') })
    client.send({ type: 'subscribe', sessionId: json['id'] })
    assert.equal(String((await client.next('error'))['code']), 'SESSION_NOT_FOUND')
  })
})

describe('A request that wishes for another protocol than WebSocket', () => {
  it('is served as if it had not, also with a body, and the connection goes on', async () => {
    const { origin } = await started()
    const { hostname, port } = new URL(origin)
    const socket = connect(Number(port), hostname)
    const body = JSON.stringify({ template: 'hello' })
    const head = `POST /api/lint HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    socket.write(head)
    // The body comes later than the head, as from a real client.
    setImmediate(() => { socket.write(`${body}GET /healthz HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: close\r\n\r\n`) })
    const answers = await text(socket)
    assert.deepEqual(answers.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 200'])
    assert.match(answers, /"diagnostics":\[\]/)
  })

  it('keeps nothing of the upgrades of a connection that it does not take', async t => {
    const { origin, app } = await start(t)
    const { hostname, port } = new URL(origin)
    let served: Socket | undefined
    app.server.once('connection', (each: Socket) => { served = each })
    const socket = connect(Number(port), hostname)
    const counts: string[] = []
    const count = () => { counts.push(served?.eventNames().map(event => `${String(event)} ${served?.listenerCount(event)}`).sort().join() ?? '') }
    const head = `GET /healthz HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n`
    let answers = 0
    socket.on('data', data => {
      const more = data.toString('latin1').split('HTTP/1.1 200').length - 1
      answers += more
      if (more === 0) return
      count()
      if (answers < 50) socket.write(head)
      else socket.end()
    })
    socket.write(head)
    await once(socket, 'close')
    assert.equal(answers, 50)
    assert.equal(counts[48], counts[1])
  })
})
