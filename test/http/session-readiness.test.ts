import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { startOf } from '../../src/session/engine.ts'
import { SessionRunner } from '../../src/session/runner.ts'
import { createDirectorySessionStore } from '../../src/session/store/directory-session-store.ts'
import { parseMetrics } from '../helpers/metrics.ts'
import { quietLog } from '../helpers/quiet-log.ts'
import { startRedisServer } from '../helpers/redis-server.ts'
import { type Service, startService } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { ManualPerformer } from '../session/manual-performer.ts'
import { scripted, scriptEngine } from '../session/script-engine.ts'
import { newId } from '../session/store/session-appends.ts'

const AGENT = { mode: 'steps', help: 'Help', classify: { prompt: 'a' }, select: { prompt: 'b' }, tools: [] }

async function start (t: TestContext, place: string): Promise<Service> {
  return await startService(t, { 'agents:helper': AGENT }, { LLM_BASE_URL: 'builtin:echo', SESSION_STORE: place, LOG_LEVEL: 'silent' })
}

async function sessionsOf ({ get }: Service): Promise<unknown> {
  const { json, status } = await get('/readyz')
  assert.equal(status, 200)
  return json['sessions']
}

describe('A Redis that dies', () => {
  it('ends what follows a session in words, and turns with 503', async t => {
    const redis = await startRedisServer()
    const service = await start(t, redis.url)
    const id = String((await service.post('/api/agents/helper/sessions')).json['id'])
    const origin = await service.listen()
    const stream = await fetch(`${origin}/api/sessions/${id}/events`)
    const reader = (stream.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
    assert.match((await reader.read()).value ?? '', /event: stdout/)
    await redis.stop()
    let text = ''
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value
    assert.match(text, /event: error\ndata: \{"code":"SESSIONS_UNAVAILABLE","message":"Sessions cannot be kept now: Redis at .+"[^}]*\}\n\n$/)
    const { body } = await service.app.inject({ url: `/api/sessions/${id}/events` })
    assert.match(body, /^event: error\ndata: .*SESSIONS_UNAVAILABLE.*\n\n$/)
    for (const [method, path] of [['GET', `/api/sessions/${id}/audit`], ['POST', `/api/sessions/${id}/cancel`]] as const) {
      const { status, json } = await (method === 'GET' ? service.get(path) : service.post(path))
      assert.deepEqual([status, json['code']], [503, 'SESSIONS_UNAVAILABLE'], path)
    }
  })
})

describe('/metrics', () => {
  for (const place of ['memory', 'redis'] as const) {
    it(`counts sessions by kind and state, what is due and how old, as the store knows them: ${place}`, async t => {
      const redis = place === 'redis' ? await startRedisServer() : undefined
      if (redis !== undefined) t.after(redis.stop)
      const service = await start(t, redis?.url ?? 'memory')
      const read = async () => parseMetrics((await service.app.inject('/metrics')).body).filter(({ name }) => name.startsWith('prompt_shell_sessions_'))
      const valuesOf = (samples: Awaited<ReturnType<typeof read>>, name: string) => samples.filter(each => each.name === `prompt_shell_sessions_${name}`).map(({ labels, value }) => [...Object.values(labels), value])
      const none = await read()
      assert.deepEqual([valuesOf(none, 'open'), valuesOf(none, 'due')], [[], [[0]]])
      for (let each = 0; each < 3; each++) await service.post('/api/agents/helper/sessions')
      const some = await read()
      assert.deepEqual(valuesOf(some, 'open'), [['agents', 'waiting_input', 3]])
      assert.deepEqual(['running', 'due', 'due_age_seconds', 'approval_age_seconds'].map(name => valuesOf(some, name)), [[], [[0]], [[0]], [[0]]])
      if (redis === undefined) return
      await redis.stop()
      await waitFor('the store to be lost', async () => valuesOf(await read(), 'due').length === 0)
    })
  }
})

describe('/readyz', () => {
  it('says that sessions can be had, also before any is', async t => {
    const service = await start(t, 'memory')
    assert.deepEqual(await sessionsOf(service), { available: true })
    await service.post('/api/agents/helper/sessions')
    assert.deepEqual(await sessionsOf(service), { available: true })
  })

  it('says why they cannot: another process has the folder', async t => {
    const folder = await createTemporaryFolder()
    const [old, next] = [await start(t, join(folder.path, 'sessions')), await start(t, join(folder.path, 'sessions'))]
    t.after(folder.remove)
    assert.equal((await old.post('/api/agents/helper/sessions')).status, 201)
    await next.listen()
    await waitFor('the reason', async () => (await sessionsOf(next) as { available: boolean }).available === false)
    assert.match(JSON.stringify(await sessionsOf(next)), /"details":"another process uses the folder/)
    assert.deepEqual(await sessionsOf(old), { available: true })
    await old.app.close()
    await waitFor('the folder', async () => (await sessionsOf(next) as { available: boolean }).available)
    assert.equal((await next.post('/api/agents/helper/sessions')).status, 201)
  })

  it('says why they cannot: Redis is gone', async t => {
    const redis = await startRedisServer()
    const service = await start(t, redis.url)
    assert.equal((await service.post('/api/agents/helper/sessions')).status, 201)
    await redis.stop()
    await waitFor('the reason', async () => /"details":"Redis at .* (?:refuses|has)/.test(JSON.stringify(await sessionsOf(service))))
    const { status, json } = await service.post('/api/agents/helper/sessions')
    assert.deepEqual([status, json['code']], [503, 'SESSIONS_UNAVAILABLE'])
  })
})

describe('A session that this process cannot go on with', () => {
  it('is listed with its reason where another version has begun it, and is 503 when it is opened', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const path = join(folder.path, 'sessions')
    const store = createDirectorySessionStore({ path, keep: 60_000, log: quietLog() })
    const id = newId()
    const engines = new Map([['agent/9', startOf({ ...scriptEngine, name: 'agent/9' })]])
    const runner = new SessionRunner({ store, engines, performer: new ManualPerformer(), log: quietLog() })
    await runner.start(id, scripted('read', { engine: 'agent/9', owner: '' }))
    await runner.close()
    await store.close()
    const service = await start(t, path)
    const begun = String((await service.post('/api/agents/helper/sessions')).json['id'])
    const { sessions } = (await service.get('/api/sessions')).json as unknown as { sessions: Array<Record<string, string>> }
    assert.deepEqual(new Map(sessions.map(each => [each['id'], each['reason']])), new Map([[begun, undefined], [id, 'no engine agent/9 is here']]))
    for (const { status, json } of [await service.get(`/api/sessions/${id}`), await service.post(`/api/sessions/${id}/input`, { text: 'hello' })]) {
      assert.deepEqual([status, json['code']], [503, 'SESSIONS_UNAVAILABLE'])
      assert.match(String(json['message']), /agent\/9/)
    }
  })

  it('is listed and failed where it was sealed with another secret', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const path = join(folder.path, 'sessions')
    const startWith = (secret: string) => startService(t, { 'agents:helper': AGENT }, {
      LLM_BASE_URL: 'builtin:echo', SESSION_STORE: path, LOG_LEVEL: 'silent', SESSION_SECRET: secret.repeat(32)
    })
    const before = await startWith('a')
    const id = String((await before.post('/api/agents/helper/sessions')).json['id'])
    await before.app.close()
    const { get, post, app } = await startWith('b')
    assert.equal((await get(`/api/sessions/${id}`)).json['status'], 'failed')
    assert.match((await app.inject({ url: `/api/sessions/${id}/events` })).body, /event: error\ndata: \{"code":"LOG_UNTRUSTED"/)
    const { sessions } = (await get('/api/sessions')).json as unknown as { sessions: Array<Record<string, string>> }
    assert.deepEqual(sessions.map(each => [each['id'], each['status']]), [[id, 'failed']])
    assert.deepEqual((await post(`/api/sessions/${id}/input`, { text: 'hello' })).json['code'], 'SESSION_ENDED')
  })
})
