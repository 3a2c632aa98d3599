import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { inTurn } from '../../src/runtime/event-loop.ts'
import { postAndLeave } from '../helpers/leaving-client.ts'
import { parseMetrics, sumOf } from '../helpers/metrics.ts'
import { startOfficialClient } from '../helpers/official-client.ts'
import { waitFor } from '../helpers/wait-for.ts'

const LEAVES = 1000
const AT_A_TIME = 50

const EVENT = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] })}\n\n`

describe('clients that leave', () => {
  it(`leave nothing open, ${LEAVES} of them, before and after the first event`, async t => {
    const { service, upstream, origin } = await startOfficialClient(t, (_hit, response, count) => {
      if (count % 2 === 0) return
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(EVENT)
    }, { 'templates:ask': { userPrompt: 'Hi' } })
    const before = openThings()

    for (let round = 0; round < LEAVES / AT_A_TIME; round++) {
      const wanted = (round + 1) * AT_A_TIME
      const clients = Array.from({ length: AT_A_TIME }, () => postAndLeave(`${origin}/api/chat/prompts/ask`, { stream: true }))
      await waitFor('all calls at the upstream', () => upstream.hits.length === wanted)
      for (const client of clients) client.destroy()
    }

    await waitFor('no connection to the upstream', () => upstream.sockets.size === 0)
    await waitFor('no connection of a client', async () => await connections() === 0)
    assert.equal(upstream.hits.length, LEAVES)
    await waitFor('no timer and no socket more than before', () => openThings() <= before)

    function connections (): Promise<number> {
      return new Promise((resolve, reject) => service.app.server.getConnections((error, count) => error === null ? resolve(count) : reject(error)))
    }
  })
})

describe('a client that leaves while its body waits for a turn', () => {
  it('has no model asked for it', async t => {
    const { service, upstream, origin } = await startOfficialClient(t, () => {}, { 'templates:ask': { userPrompt: 'Hi' } })
    const before = Array.from({ length: 20 }, () => inTurn(() => spin(15)))
    const arrived = once(service.app.server, 'request')
    const client = postAndLeave(`${origin}/api/chat/prompts/ask`, { stream: true })
    const [incoming] = await arrived as [IncomingMessage]
    await once(incoming, 'end')
    client.destroy()
    await Promise.all(before)
    const next = postAndLeave(`${origin}/api/chat/prompts/ask`, { stream: true, user: 'next' })
    await waitFor('the next one\'s call', () => upstream.hits.some(({ body }) => body.includes('next')))
    next.destroy()
    assert.equal(upstream.hits.length, 1)
  })
})

describe('a client that leaves after several requests on one connection', () => {
  it('has all of them ended', async t => {
    const { service, upstream, origin } = await startOfficialClient(t, () => {}, { 'templates:ask': { userPrompt: 'Hi' } })
    const { host, hostname, port } = new URL(origin)
    const client = connect(Number(port), hostname)
    const body = '{"stream":true}'
    const request = `POST /api/chat/prompts/ask HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    client.write(request.repeat(5))
    await waitFor('all calls at the upstream', () => upstream.hits.length === 5)
    client.destroy()
    await upstream.allClosed()
    const inFlight = async () => sumOf(parseMetrics((await service.app.inject('/metrics')).body), 'prompt_shell_http_requests_in_flight')
    await waitFor('nothing to be in flight but this', async () => await inFlight() === 1)
  })
})

function spin (milliseconds: number): void {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

/** Timers, sockets and requests that keep the process alive. */
function openThings (): number {
  return process.getActiveResourcesInfo().length
}
