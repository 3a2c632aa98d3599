import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { pino } from 'pino'
import { parseTokens } from '../../src/access/token-table.ts'
import { sessionNotFound } from '../../src/base/errors.ts'
import { Type } from '../../src/schema/builder.ts'
import { loadConfig } from '../../src/config/config.ts'
import { type App } from '../../src/http/app.ts'
import { KIND_ROUTES } from '../../src/http/routes/entries.ts'
import { createServer } from '../../src/http/server.ts'
import { Metrics } from '../../src/observe/metrics.ts'
import { openService } from '../../src/service.ts'
import { createMemoryStore } from '../helpers/memory-store.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

/** A made-up route: all that an addition writes besides its line in server.ts. */
function bellRoutes (app: App): void {
  app.get('/api/bells/:id', {
    config: { role: 'run', fails: ['SESSION_NOT_FOUND'], headers: ['etag'] },
    schema: { tags: ['Sessions'], operationId: 'getBell', summary: 'Get a bell', params: Type.Object({ id: Type.String() }), response: { 200: Type.Object({ strokes: Type.Integer() }) } }
  }, async ({ params: { id } }, reply) => {
    if (id !== 'tower') throw sessionNotFound(id)
    reply.header('etag', '"1"')
    return { strokes: 12 }
  })
  app.get('/api/bells/broken', { schema: { response: { 200: Type.Object({ strokes: Type.Integer() }) } } }, async (_request, reply) => {
    // @ts-expect-error: the compiler holds a handler to the reply that its route declares
    return await reply.code(200).send({ strokes: 'twelve' })
  })
}

async function startWithBells (t: TestContext): Promise<App> {
  const config = loadConfig({ STORE_DIR: 'in memory', SESSION_STORE: 'memory' })
  const log = pino({ level: 'silent' })
  const metrics = new Metrics()
  const observer = { metrics, tracer: undefined }
  const service = await openService(config, log, { store: createMemoryStore(), observer })
  const app = await createServer({
    service,
    kindRoutes: KIND_ROUTES,
    log,
    access: { mode: 'tokens', ...parseTokens([tokenEntry('ann', 'run'), tokenEntry('bob', 'render')].join(','), { requests: undefined, tokens: undefined }) },
    corsOrigins: [],
    observer,
    readMetrics: () => metrics.read(undefined),
    onWatched: () => {},
    logValues: false,
    renderTimeout: config.RENDER_TIMEOUT_MS,
    bodyLimit: config.BODY_LIMIT_BYTES,
    chatBodyLimit: config.CHAT_BODY_LIMIT_BYTES,
    mcpServer: false,
    console: false
  })
  bellRoutes(app)
  t.after(async () => {
    await app.close()
    await service.close()
  })
  return app
}

describe('A made-up route, of one file', () => {
  it('answers those whose token has its role', async t => {
    const app = await startWithBells(t)
    const get = async (headers = {}) => {
      const { statusCode, json } = await app.inject({ url: '/api/bells/tower', headers })
      return [statusCode, statusCode === 200 ? json() : json<{ code: string }>().code]
    }
    assert.deepEqual(await get(bearer('ann')), [200, { strokes: 12 }])
    assert.deepEqual(await get(bearer('bob')), [403, 'ROLE_MISSING'])
    assert.deepEqual(await get(), [401, 'TOKEN_REQUIRED'])
  })

  it('answers errors in the one shape', async t => {
    const app = await startWithBells(t)
    const { json } = await app.inject({ url: '/api/bells/church', headers: bearer('ann') })
    const { statusCode, code, message } = json<Record<string, unknown>>()
    assert.deepEqual({ statusCode, code, message }, { statusCode: 404, code: 'SESSION_NOT_FOUND', message: sessionNotFound('church').message })
  })

  it('is described with its statuses, examples and headers, which follow from what it declares', async t => {
    const app = await startWithBells(t)
    const { paths } = (await app.inject('/openapi.json')).json<{ paths: Record<string, { get: { responses: Record<string, { headers?: object, content: Record<string, { examples?: object }> }> } }> }>()
    const responses = paths['/api/bells/{id}']?.get.responses
    assert.deepEqual(Object.keys(responses?.['404']?.content['application/json']?.examples ?? {}), ['SESSION_NOT_FOUND'])
    assert.ok('etag' in (responses?.['200']?.headers ?? {}))
    for (const status of ['401', '403', '429', '503']) assert.ok(responses?.[status] !== undefined, status)
  })
})
