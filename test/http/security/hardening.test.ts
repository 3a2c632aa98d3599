import assert from 'node:assert/strict'
import { once } from 'node:events'
import { maxHeaderSize } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, it, type TestContext } from 'node:test'
import { type JsonView, type Service, startService } from '../../helpers/service.ts'
import { type AtEnd, shared } from '../../helpers/shared.ts'
import { startUpstream } from '../../helpers/upstream-server.ts'
import { waitFor } from '../../helpers/wait-for.ts'

const registrations = { 'templates:hello': 'Hello {{name}}' }
const RENDER = 'POST /api/render/prompts/hello HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'

type Listening = Pick<Service, 'app' | 'log'> & { readonly url: string }

async function listening (t: AtEnd, environment: Readonly<Record<string, string>> = {}): Promise<Listening> {
  const { app, listen, log } = await startService(t, registrations, environment)
  return { app, log, url: await listen() }
}

const started = shared(listening)
const startedToTell = shared(suite => listening(suite, { LOG_LEVEL: 'info' }))

describe('requests that come slowly', () => {
  it('have 10 s for their headers and 30 s in all', async () => {
    const { app } = await started()
    const { headersTimeout, requestTimeout } = app.server
    assert.deepEqual([headersTimeout, requestTimeout], [10_000, 30_000])
  })

  for (const [what, sent] of [
    ['headers', 'GET /api/prompts HTTP/1.1\r\nhost: loc'],
    ['a body', `${RENDER}content-length: 100\r\n\r\n{"vari`],
    ['nothing behind a chunk', `${RENDER}transfer-encoding: chunked\r\n\r\n1\r\n{\r\n`]
  ] as const) {
    it(`end in 408 with ${what} that does not end`, async t => {
      const { socket, server } = await openConnection(t)
      server.headersTimeout = 50
      server.requestTimeout = 100
      socket.write(sent)
      const { status, json } = await answerOf(socket)
      assert.deepEqual([status, json['code']], [408, 'REQUEST_TIMEOUT'])
    })
  }
})

describe('connections without a request', () => {
  it('do not keep the server from closing', async t => {
    const { app, socket } = await openConnection(t)
    let isClosed = false
    app.close().then(() => { isClosed = true }, assert.ifError)
    try {
      await waitFor('the end of close()', () => isClosed, 5000)
    } finally {
      socket.destroy()
    }
  })
})

describe('requests that are not as they should be', () => {
  const deep = (levels: number) => JSON.stringify({ variables: { name: 'x' } }).replace('"x"', `${'['.repeat(levels)}${']'.repeat(levels)}`)
  const body = (value: string) => `${RENDER}connection: close\r\ncontent-length: ${Buffer.byteLength(value)}\r\n\r\n${value}`
  const cases: ReadonlyArray<readonly [what: string, sent: string, status: number, code: string]> = [
    ['what is not HTTP', 'hello\r\n\r\n', 400, 'REQUEST_INVALID'],
    ['headers beyond 16 KiB', `GET /api/prompts HTTP/1.1\r\nhost: localhost\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'HEADERS_TOO_LARGE'],
    ['two lengths', `${RENDER}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`, 400, 'REQUEST_INVALID'],
    ['a length and chunks, by which requests are smuggled', `${RENDER}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`, 400, 'REQUEST_INVALID'],
    ['no host', 'GET /api/prompts HTTP/1.1\r\nconnection: close\r\n\r\n', 400, 'REQUEST_INVALID'],
    ['a compressed body', 'POST /api/render/prompts/x HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}', 415, 'ENCODING_UNSUPPORTED'],
    ['an expectation that nobody knows', 'GET /api/prompts HTTP/1.1\r\nhost: localhost\r\nexpect: wonders\r\nconnection: close\r\n\r\n', 417, 'EXPECTATION_UNKNOWN'],
    ['an id beyond 512 characters', `GET /api/prompts/${'a'.repeat(600)} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`, 414, 'URL_TOO_LONG'],
    ['a path that is not percent-encoded', 'GET /api/prompts/%zz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n', 400, 'REQUEST_INVALID'],
    ['a body that says it is too large', `${RENDER}connection: close\r\ncontent-length: 2000000\r\n\r\n`, 413, 'BODY_TOO_LARGE'],
    ['a body that is too large and does not say so', `${RENDER}connection: close\r\ntransfer-encoding: chunked\r\n\r\n${'10000\r\n'.concat('x'.repeat(0x10000), '\r\n').repeat(17)}0\r\n\r\n`, 413, 'BODY_TOO_LARGE'],
    ['JSON that is too deep', body(deep(200)), 400, 'REQUEST_INVALID'],
    ['a number that no double can hold', body('{"variables":{"name":1e400}}'), 400, 'REQUEST_INVALID'],
    ['a key that aims at prototypes', body('{"variables": {"__proto__": {"a": 1}}}'), 400, 'REQUEST_INVALID'],
    ['the same key in escapes', body('{"variables": {"\\u005f_proto__": {"a": 1}}}'), 400, 'REQUEST_INVALID'],
    ['a path at /docs that no file can have', 'GET /docs/static/%00 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n', 400, 'REQUEST_INVALID'],
    ['a part of a file at /docs that it does not have', 'GET /docs/static/index.css HTTP/1.1\r\nhost: localhost\r\nrange: bytes=999999999-\r\nconnection: close\r\n\r\n', 400, 'REQUEST_INVALID'],
    ['a method that no route has', 'PATCH /api/prompts HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n', 405, 'METHOD_NOT_ALLOWED'],
    ['a method that asks for a body, and has none', 'QUERY /api/prompts HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n', 405, 'METHOD_NOT_ALLOWED']
  ]
  for (const [what, sent, status, code] of cases) {
    it(`are refused in the one shape of errors: ${what}`, async t => {
      const { socket } = await openConnection(t, await started())
      socket.write(sent)
      const answer = await answerOf(socket)
      assert.deepEqual([answer.status, answer.json['code']], [status, code])
      assert.deepEqual(Object.keys(answer.json).filter(key => key !== 'details'), ['statusCode', 'code', 'error', 'message', 'requestId'])
      assert.equal(answer.requestId, answer.json['requestId'])
    })
  }

  const neverRequests: ReadonlyArray<readonly [what: string, sent: string, message: string]> = [
    ['a method that there is not', 'FOO / HTTP/1.1\r\nhost: localhost\r\n\r\n', 'The request does not begin with a method that is known here, such as GET'],
    ['letters that are not percent-encoded', 'GET /api/prompts/\u00e9 HTTP/1.1\r\nhost: localhost\r\n\r\n', 'path: expected "/", and percent-encoded UTF-8 behind it'],
    ['a URL beyond 16 KiB', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`, `The URL and the headers are larger than ${maxHeaderSize} bytes together`],
    ['a name of a header with a space', 'GET / HTTP/1.1\r\nho st: localhost\r\n\r\n', 'The request cannot be read as HTTP/1.1: Invalid header token']
  ]
  for (const [what, sent, message] of neverRequests) {
    it(`are told what is wrong: ${what}`, async t => {
      const { socket } = await openConnection(t, await started())
      socket.write(sent)
      assert.equal((await answerOf(socket)).json['message'], message)
    })

    it(`are in the log under the id of their answer: ${what}`, async t => {
      const { socket, log } = await openConnection(t, await startedToTell())
      socket.write(sent)
      const { status, requestId, json: { code } } = await answerOf(socket)
      const { level: _level, time: _time, pid: _pid, hostname: _hostname, ...line } = log.at(-1) ?? {}
      assert.deepEqual(line, { requestId, status, code, msg: 'unreadable request' })
    })
  }

  for (const [what, head] of [['HTTP/1.0, which knows no host', 'GET /healthz HTTP/1.0\r\n\r\n'], ['an expectation to be met', 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n']] as const) {
    it(`are not ${what}`, async t => {
      const { socket } = await openConnection(t, await started())
      socket.write(head)
      assert.match(await text(socket), /HTTP\/1.1 200 OK/)
    })
  }

  it('get no answer in the middle of the one before', async t => {
    const upstream = await startUpstream((_hit, response) => { response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"choices":[]}\n\n') })
    t.after(() => upstream.close())
    const { listen } = await startService(t, registrations, { LLM_BASE_URL: upstream.baseUrl, LLM_MODEL: 'm' })
    const socket = connect(Number(new URL(await listen()).port), '127.0.0.1')
    socket.on('error', () => {})
    const body = '{"stream":true,"variables":{"name":"x"}}'
    socket.write(`POST /api/chat/prompts/hello HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    let answer = ''
    socket.on('data', (bytes: Buffer) => {
      answer += bytes.toString()
      if (answer.includes('choices')) socket.write('hello\r\n\r\n')
    })
    await once(socket, 'close')
    assert.equal(answer.match(/HTTP\/1\.1/g)?.length, 1, answer)
  })

  it('do no harm to the next one', async t => {
    const { socket, url } = await openConnection(t, await started())
    socket.write('hello\r\n\r\n')
    await answerOf(socket)
    assert.equal((await fetch(`${url}/api/prompts`)).status, 200)
  })

  it('keep names of JavaScript\'s prototypes as data, where they are no keys of a prototype', async t => {
    const { post } = await startService(t, { 'templates:p': '{{variables.constructor}}|{{variables.toString}}' })
    assert.equal((await post('/api/render/prompts/p', { variables: { constructor: 'a', toString: 'b' } })).json['rendered_prompt'] as unknown, 'a|b')
    assert.equal((await post('/api/render/prompts/p', { variables: {} })).json['code'] as unknown, 'VARIABLE_MISSING')
  })
})

async function openConnection (t: TestContext, service?: Listening) {
  const { app, url, log } = service ?? await listening(t)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  return { app, socket, url, log, server: app.server }
}

/** The one answer that comes before the server closes the connection. */
async function answerOf (socket: Socket) {
  const answer = await text(socket)
  const [, requestId] = /\r\nx-request-id: (\S+)\r\n/.exec(answer) ?? []
  return { status: Number(answer.slice(9, 12)), requestId, json: JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as JsonView }
}
