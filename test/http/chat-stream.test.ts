import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { postAndLeave } from '../helpers/leaving-client.ts'
import { startService } from '../helpers/service.ts'
import { type Answer, sendCompletionStream, startUpstream } from '../helpers/upstream-server.ts'
import { followScript, readScripts } from '../helpers/upstream-script.ts'
import { waitFor } from '../helpers/wait-for.ts'

const registrations = { 'templates:ask': { userPrompt: 'Say {{variables.word}}' } }
const EVENT = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] })}\n\n`
const PATHS = ['/api/chat/prompts/ask', '/api/prompts/ask/chat']

async function start (t: TestContext, answer: Answer, environment: Readonly<Record<string, string>> = {}) {
  const upstream = await startUpstream(answer)
  const service = await startService(t, registrations, { LLM_BASE_URL: upstream.baseUrl, ...environment })
  const origin = await service.listen()
  // Before the service is closed, which waits for its calls.
  t.after(() => upstream.close())
  return { upstream, service, origin }
}

function ask (origin: string, path: string): Promise<Response> {
  return fetch(`${origin}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-request-id': 'mine' },
    body: JSON.stringify({ variables: { word: 'hi' }, stream: true })
  })
}

describe('a streamed chat', () => {
  for (const path of PATHS) {
    it(`passes the upstream's bytes through at ${path}`, async t => {
      const script = readScripts<object>('stream').find(({ title }) => title.includes('UTF-8'))
      assert.ok(script !== undefined)
      const sent = script.replies[0]?.pieces ?? []
      const bytes = Buffer.concat(sent.map(piece => typeof piece === 'string' ? Buffer.from(piece) : Buffer.from('hex' in piece ? piece.hex.replaceAll(' ', '') : '', 'hex')))
      const { origin } = await start(t, followScript(script.replies))
      const response = await ask(origin, path)
      assert.equal(response.status, 200)
      assert.deepEqual(Buffer.from(await response.arrayBuffer()), bytes)
    })
  }

  it('says what it is in its headers', async t => {
    const { origin } = await start(t, (_hit, response) => sendCompletionStream(response, ['Hi']))
    const response = await ask(origin, PATHS[0] as string)
    const { headers } = response
    await response.text()
    assert.equal(headers.get('content-type'), 'text/event-stream; charset=utf-8')
    assert.equal(headers.get('cache-control'), 'no-cache, no-transform')
    assert.equal(headers.get('x-accel-buffering'), 'no')
    assert.equal(headers.get('x-request-id'), 'mine')
    assert.match(headers.get('x-registry-revision') ?? '', /./)
  })

  it('passes an event on before the next one is there', async t => {
    let goOn = () => {}
    const { origin } = await start(t, (_hit, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(EVENT)
      goOn = () => sendRest(response)
    })
    const response = await ask(origin, PATHS[0] as string)
    const reader = response.body?.getReader()
    assert.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), EVENT)
    goOn()
    let rest = ''
    for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read()) rest += Buffer.from(piece.value).toString()
    assert.ok(rest.endsWith('data: [DONE]\n\n'))
  })

  it('answers with an error like that of a whole reply when nothing has been passed on', async t => {
    const { origin } = await start(t, (_hit, response) => response.writeHead(401).end())
    const response = await ask(origin, PATHS[0] as string)
    assert.equal(response.status, 502)
    assert.equal((await response.json() as { code: string }).code, 'LLM_AUTH')
  })

  it('ends a cut stream with one error event and no [DONE]', async t => {
    const { origin } = await start(t, (_hit, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(EVENT, () => response.destroy())
    })
    const text = await (await ask(origin, PATHS[0] as string)).text()
    assert.ok(text.startsWith(EVENT))
    assert.equal((JSON.parse(text.slice(EVENT.length + 'data: '.length)) as { error: { code: string } }).error.code, 'LLM_UPSTREAM')
  })

  const beginnings: ReadonlyArray<readonly [string, Answer]> = [
    ['before the first byte', () => {}],
    ['after it', (_hit, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).write(EVENT)]
  ]
  for (const [when, answer] of beginnings) {
    it(`is aborted at the upstream when the client leaves ${when}`, async t => {
      const { upstream, origin } = await start(t, answer)
      const client = postAndLeave(`${origin}${PATHS[0]}`, { variables: { word: 'hi' }, stream: true })
      await waitFor('a call', () => upstream.hits.length === 1)
      client.destroy()
      await upstream.allClosed()
    })
  }

  it('is finished by a service that is asked to stop', async t => {
    let goOn = () => {}
    const { service, origin } = await start(t, (_hit, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(EVENT)
      goOn = () => sendRest(response)
    })
    const response = await ask(origin, PATHS[0] as string)
    const closed = service.app.close()
    // Longer than the model's client waits for its calls once it is closed: it must not be closed yet.
    await sleep(1500)
    goOn()
    const text = await response.text()
    await closed
    assert.ok(text.endsWith('data: [DONE]\n\n'), text)
  })
})

describe('a slow reader', () => {
  it('of 100 MB makes the upstream wait, so that next to nothing is held', async t => {
    const event = EVENT.replace('Hi', 'x'.repeat(64 * 1024))
    const events = 1600
    let written = 0
    const { origin } = await start(t, (_hit, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const write = () => {
        while (written < events) {
          written++
          if (!response.write(event)) return
        }
        sendRest(response)
      }
      response.on('drain', write)
      write()
    })
    const call = request(`${origin}${PATHS[0]}`, { method: 'POST', headers: { 'content-type': 'application/json' } })
    call.end(JSON.stringify({ variables: { word: 'hi' }, stream: true }))
    const [reply] = await once(call, 'response') as [IncomingMessage]
    reply.pause()
    await settled(() => written)
    // What the buffers of four sockets take.
    assert.ok(written < events / 4, `${written} of ${events} events were taken`)
    let received = 0
    for await (const chunk of reply) received += (chunk as Buffer).length
    assert.ok(received > events * 64 * 1024)
  })
})

function sendRest (response: ServerResponse): void {
  response.write(EVENT.replace('"finish_reason":null', '"finish_reason":"stop"'))
  response.end('data: [DONE]\n\n')
}

/** Waits until a number does not change any more. */
async function settled (read: () => number): Promise<void> {
  let before = -1
  while (before !== read()) {
    before = read()
    await sleep(200)
  }
}
