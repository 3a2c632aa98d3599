import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http'
import { type AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import fastify from 'fastify'
import { limitChatBodies } from '../../../src/http/admission.ts'
import type { App, SchemaTypes } from '../../../src/http/app.ts'
import { handleErrors } from '../../../src/http/error-replies.ts'
import { readJsonBodies } from '../../../src/http/request-reading.ts'

const LONG = 60_000

/** Answers with the length of a body once it is told to; `begun` has those that were read, and are not answered. */
async function start (t: TestContext, { limit = 1000, most = 1500, patience = LONG } = {}) {
  const begun = new Map<number, () => void>()
  const waiting = new Map<number, () => void>()
  const app: App = fastify({ logger: false }).withTypeProvider<SchemaTypes>()
  limitChatBodies(app, limit, most, patience)
  handleErrors(app, false)
  readJsonBodies(app)
  app.post('/chat', { config: { role: 'chat' } }, async ({ body }) => {
    const { length } = JSON.stringify(body)
    waiting.get(length)?.()
    await new Promise<void>(resolve => begun.set(length, resolve))
    begun.delete(length)
    return { length }
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => {
    for (const answer of begun.values()) answer()
    app.server.closeAllConnections()
    return app.close()
  })
  const { port } = app.server.address() as AddressInfo
  return {
    send (length: number, headers: Readonly<Record<string, string>> = { 'content-length': String(length) }): ClientRequest {
      const sending = httpRequest({ port, method: 'POST', path: '/chat', agent: false, headers: { 'content-type': 'application/json', ...headers } })
      sending.on('error', () => {}).end(JSON.stringify('x'.repeat(length - 2)))
      return sending
    },
    answer: (length: number) => begun.get(length)?.(),
    isBegun: (length: number) => begun.has(length),
    async untilBegun (length: number): Promise<void> {
      if (!begun.has(length)) await new Promise<void>(resolve => waiting.set(length, () => setImmediate(resolve)))
    }
  }
}

async function replyTo (sending: ClientRequest) {
  const [response] = await once(sending, 'response') as [IncomingMessage]
  const text = Buffer.concat(await response.toArray() as Buffer[]).toString()
  return { status: response.statusCode, json: JSON.parse(text) as Record<string, unknown>, retryAfter: response.headers['retry-after'] }
}

describe('Room for the bodies of requests to models', () => {
  it('is waited for, while smaller ones that have room go on', async t => {
    const { send, answer, isBegun, untilBegun } = await start(t)
    const first = replyTo(send(1000))
    await untilBegun(1000)
    const second = replyTo(send(900))
    const third = replyTo(send(400))
    await untilBegun(400)
    assert.ok(!isBegun(900))
    answer(400)
    await third
    assert.ok(!isBegun(900))
    answer(1000)
    assert.equal((await first).status, 200)
    await untilBegun(900)
    answer(900)
    assert.equal((await second).status, 200)
  })

  it('is refused with 503 to a body that has waited as long as a request may', async t => {
    const { send, untilBegun } = await start(t, { patience: 20 })
    const first = send(1000)
    await untilBegun(1000)
    const { status, json, retryAfter } = await replyTo(send(900))
    assert.deepEqual([status, json['code'], retryAfter], [503, 'OVERLOADED', '1'])
    first.destroy()
  })

  it('is given back by a client that leaves, also while it waits', async t => {
    const { send, answer, untilBegun } = await start(t)
    const first = send(1000)
    await untilBegun(1000)
    const leaver = send(800)
    await once(leaver, 'finish')
    leaver.destroy()
    const second = replyTo(send(900))
    first.destroy()
    await untilBegun(900)
    answer(900)
    assert.equal((await second).status, 200)
  })

  it('is taken for the largest body by one without a length, until it is there', async t => {
    const { send, untilBegun } = await start(t)
    const chunked = send(200, { 'transfer-encoding': 'chunked' })
    await untilBegun(200)
    const second = send(1000)
    await untilBegun(1000)
    for (const each of [chunked, second]) each.destroy()
  })

  it('is not there for a body larger than all of it', async t => {
    const { send } = await start(t, { limit: 5000 })
    const { status, json } = await replyTo(send(2000))
    assert.deepEqual([status, json['code'], json['details']], [413, 'BODY_TOO_LARGE', { limit: 1500 }])
    assert.match(String(json['message']), /larger than 1500 bytes, the most that all bodies together may take, a quarter of the heap's limit/)
  })
})
