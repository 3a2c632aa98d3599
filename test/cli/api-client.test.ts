import assert from 'node:assert/strict'
import { type ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { ApiClient, apiPath } from '../../src/cli/api-client.ts'
import { type Hit, sendJson, startUpstream } from '../helpers/upstream-server.ts'

async function open (t: TestContext, answer: (hit: Hit, response: ServerResponse, count: number) => void, token = '') {
  const server = await startUpstream(answer)
  t.after(() => server.close())
  return { server, api: new ApiClient({ url: server.baseUrl, token, signal: new AbortController().signal }) }
}

async function all (events: AsyncIterable<{ readonly data: string | undefined }>) {
  const found = []
  for await (const { data } of events) found.push(data)
  return found
}

const sendEvents = (response: ServerResponse, text: string) => response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).write(text)

/** What stands in for a service, and what the client makes of it. */
const STRANGE: ReadonlyArray<readonly [what: string, answer: (response: ServerResponse) => void, exitCode: number, message: RegExp]> = [
  ['a page', response => { response.end('<html>') }, 5, /^what answers at http:.* is no ai-prompt-shell$/],
  ['a redirection', response => { response.writeHead(302, { location: '/x' }).end() }, 5, /^the service answered with status 302$/],
  ['an error without a body', response => { response.writeHead(503).end() }, 5, /^the service answered with status 503$/],
  ['an error of a proxy', response => { response.writeHead(404).end('nothing here') }, 1, /^the service answered with status 404$/],
  ['an error in OpenAI\'s shape', response => { sendJson(response, 429, { error: { message: 'later', code: 'rate_limit' } }, { 'x-request-id': 'r1' }) }, 5, /^later \(rate_limit, request r1\)$/],
  ['an error of other types', response => { sendJson(response, 400, { message: 5, code: ['x'] }) }, 1, /^the service answered with status 400$/],
  ['a reply that is cut', response => { response.writeHead(200, { 'content-length': 10 }).write('{"a":'); setImmediate(() => response.destroy()) }, 5, /^the reply of http:.* was cut: the connection was reset$/],
  ['no reply', response => { response.destroy() }, 5, /^http:.* does not answer: the connection was reset; --url or APS_URL says where the service is$/]
]

describe('the client of the API', () => {
  for (const [what, answer, exitCode, message] of STRANGE) {
    it(`makes ${exitCode} of ${what}`, async t => {
      const { api } = await open(t, (_hit, response) => { answer(response) })
      await assert.rejects(api.get('/x'), { name: 'CliError', exitCode, message })
    })
  }

  it('asks below the path of its address, with its token', async t => {
    const { api, server } = await open(t, (_hit, response) => { sendJson(response, 200, {}) }, 'token-1')
    await api.get(apiPath('api', 'prompts', '..'))
    await api.post(apiPath('api', 'prompts', 'a/b?c=ä'), { n: 12345678901234567890n })
    assert.deepEqual(server.hits.map(({ method, path, headers, body }) => [method, path, headers.authorization, body]), [
      ['GET', '/v1/api/prompts/..', 'Bearer token-1', ''],
      ['POST', '/v1/api/prompts/a%2Fb%3Fc%3D%C3%A4', 'Bearer token-1', '{"n":12345678901234567890}']
    ])
  })

  it('follows the pages of a listing, by their query alone', async t => {
    const { api, server } = await open(t, (_hit, response, count) => {
      const next = count < 3 ? { link: `<http://inside:1/other?after=p%26${count}>; rel="next"` } : undefined
      sendJson(response, 200, [count], next)
    })
    assert.deepEqual(await api.list('/api/prompts', { detail: 'true' }), [1, 2, 3])
    assert.deepEqual(server.hits.map(({ path }) => path), ['/v1/api/prompts?detail=true', '/v1/api/prompts?detail=true&after=p%261', '/v1/api/prompts?detail=true&after=p%262'])
  })

  it('reads the events of a stream', async t => {
    const { api } = await open(t, (_hit, response) => {
      sendEvents(response, 'data: one\n\n: busy\n\ndata: t')
      setImmediate(() => { response.end('wo\n\ndata: never ended') })
    })
    assert.deepEqual(await all(api.events('/x')), ['one', undefined, 'two'])
  })

  it('tells that a stream was cut', async t => {
    const { api } = await open(t, (_hit, response) => {
      sendEvents(response, 'data: one\n\n')
      setImmediate(() => { response.destroy() })
    })
    await assert.rejects(all(api.events('/x')), { name: 'CliError', exitCode: 5 })
  })

  it('takes nothing else for a stream', async t => {
    const { api } = await open(t, (_hit, response) => { sendJson(response, 200, {}) })
    await assert.rejects(all(api.events('/x', {})), { exitCode: 5, message: /is no ai-prompt-shell$/ })
  })
})
