import assert from 'node:assert/strict'
import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { type JsonView, startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'

/** What a request is answered whose method Fastify's `inject` would not send. */
async function send (origin: string, method: string, path: string, body?: string) {
  return await new Promise<readonly [status: number | undefined, allow: string | undefined, body: JsonView]>((resolve, reject) => {
    const call = request(origin, { method, path, headers: body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length } }, reply => {
      json(reply).then(parsed => { resolve([reply.statusCode, reply.headers.allow, parsed as JsonView]) }, reject)
    })
    call.on('error', reject).end(body)
  })
}

const started = shared(async suite => {
  const service = await startService(suite, {})
  return { ...service, origin: await service.listen() }
})

describe('a path that is known, with another method', () => {
  const calls = [
    ['GET', '/api/render/prompts/a', 'POST'],
    ['POST', '/api/prompts/a?x=1', 'DELETE, GET, HEAD, PUT'],
    ['PATCH', '/api/prompts/a%2Fb', 'DELETE, GET, HEAD, PUT'],
    ['PATCH', '/%61pi/prompts', 'GET, HEAD'],
    ['OPTIONS', '/api/prompts', 'GET, HEAD'],
    ['DELETE', '/docs/static/index.css', 'GET, HEAD'],
    ['PROPFIND', '/healthz', 'GET, HEAD'],
    ['QUERY', '/api/prompts', 'GET, HEAD'],
    ['PUT', '/v1/models', 'GET, HEAD']
  ] as const
  for (const [method, path, allowed] of calls) {
    it(`is 405 and says what it takes: ${method} ${path}`, async () => {
      const [status, allow, body] = await send((await started()).origin, method, path)
      assert.deepEqual([status, allow], [405, allowed])
      assert.equal(body['code'] ?? body['error']?.['code'], 'METHOD_NOT_ALLOWED')
    })
  }

  it('names the methods for programs', async () => {
    const { app } = await started()
    const { details } = (await app.inject({ method: 'PATCH', url: '/api/prompts' })).json<{ details: object }>()
    assert.deepEqual(details, { allowed: ['GET', 'HEAD'] })
  })

  for (const [body, what] of [['{', 'is no JSON'], ['{}', 'is JSON']] as const) {
    it(`is no matter of a body that ${what}`, async () => {
      const { origin } = await started()
      assert.deepEqual([(await send(origin, 'QUERY', '/api/prompts', body))[0], (await send(origin, 'PATCH', '/api/prompts', body))[0]], [405, 405])
    })
  }
})

describe('a path that is not known', () => {
  const calls = [
    ['POST', '/api/render/prompts/a/', ['POST /api/render/prompts/a']],
    ['POST', '/api/prompts/', ['GET /api/prompts']],
    ['GET', '/api/render/prompts/a/b', undefined],
    ['QUERY', '/api/nothing', undefined]
  ] as const
  for (const [method, path, near] of calls) {
    it(`is 404 with ${near?.length ?? 0} routes for it without its slash: ${method} ${path}`, async () => {
      const [status, allow, { details }] = await send((await started()).origin, method, path)
      assert.deepEqual([status, allow, details?.['near']], [404, undefined, near])
    })
  }
})
