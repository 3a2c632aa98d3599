import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { askingPlace } from '../../helpers/asking-skill.ts'
import { sendLateRequest } from '../../helpers/late-request.ts'
import { startRedisServer } from '../../helpers/redis-server.ts'
import { startService } from '../../helpers/service.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'
import { waitFor } from '../../helpers/wait-for.ts'

interface Told { readonly event: string, readonly data: { readonly revision?: string, readonly kinds: string[], readonly ids: string[], readonly more?: number, readonly code?: string } }

/** Follows the changes; each call of what it gives waits for the next event. */
async function follow (t: TestContext, url: string, headers: Readonly<Record<string, string>> = {}) {
  const leaving = new AbortController()
  t.after(() => { leaving.abort() })
  const reply = await fetch(`${url}/api/events`, { headers, signal: leaving.signal })
  assert.equal(reply.status, 200)
  const reader = (reply.body as ReadableStream<Uint8Array<ArrayBuffer>>).pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader()
  return async (): Promise<Told | 'ended'> => {
    const { done, value } = await reader.read()
    return done ? 'ended' : { event: value.event ?? '', data: JSON.parse(value.data) as Told['data'] }
  }
}

describe('GET /api/events', () => {
  it('tells of prompts, shared variables and problems that come, change and go', async t => {
    const { store, listen, app } = await startService(t, { 'templates:a': 'x', 'templates:b': 'x' })
    const next = await follow(t, await listen())
    const tell = async (change: () => void) => {
      change()
      const told = await next()
      return told === 'ended' ? told : [told.event, told.data.kinds, told.data.ids]
    }
    assert.deepEqual(await tell(() => { store.set('shenma:templates:a', 'y') }), ['changed', ['prompts'], ['a']])
    assert.deepEqual(await tell(() => { store.delete('shenma:templates:b') }), ['changed', ['prompts'], ['b']])
    assert.deepEqual(await tell(() => { store.set('shenma:environs:team:tone', '"kind"') }), ['changed', ['environs'], ['team.tone']])
    assert.deepEqual(await tell(() => { store.set('shenma:tools:x:find', '{"url": 7}') }), ['changed', ['problems'], ['x.find']])
    store.set('shenma:templates:new', 'z')
    const told = await next()
    assert.equal(told !== 'ended' && told.data.revision, (await app.inject('/api/prompts')).headers['x-registry-revision'])
  })

  it('tells a caller with patterns nothing of the rest', async t => {
    const { store, listen } = await startService(t, { 'templates:team:a': 'x' }, { API_TOKENS: [tokenEntry('team', 'read:prompts=team.*'), tokenEntry('none', 'render')].join(',') })
    const url = await listen()
    const next = await follow(t, url, bearer('team'))
    store.set('shenma:templates:other', 'y')
    store.set('shenma:templates:broken', '{"userPrompt": 7}')
    store.set('shenma:tools:x:find', '{"url": "http://127.0.0.1:1/"}')
    store.set('shenma:templates:team:a', 'y')
    const ids = new Set<string>()
    while (!ids.has('team.a')) {
      const told = await next()
      assert.ok(told !== 'ended' && told.data.revision === undefined)
      for (const id of told.data.ids) ids.add(id)
    }
    assert.deepEqual([...ids].sort(), ['team.a', 'x.find'])
    assert.equal((await fetch(`${url}/api/events`, { headers: bearer('none') })).status, 403)
  })

  it('ends with the reason when its token is revoked', async t => {
    const folder = await createTemporaryFolder()
    t.after(() => folder.remove())
    const file = join(folder.path, 'tokens.txt')
    await writeFile(file, `${tokenEntry('a', 'read')}\n${tokenEntry('b', 'read')}\n`)
    const { listen } = await startService(t, {}, { API_TOKENS_FILE: file })
    const next = await follow(t, await listen(), bearer('a'))
    await writeFile(file, `${tokenEntry('b', 'read')}\n`)
    const told = await next()
    assert.deepEqual(told === 'ended' ? told : [told.event, told.data.code], ['error', 'TOKEN_UNKNOWN'])
    assert.equal(await next(), 'ended')
  })

  it('and every other event stream is refused to a token beyond sixty-four, before anything is done; those that have left do not count', async t => {
    const { listen } = await startService(t, {}, { API_TOKENS: `${tokenEntry('many', 'read+run+render')},${tokenEntry('other', 'read')}` })
    const url = await listen()
    const headers = { ...bearer('many'), accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
    const controllers = Array.from({ length: 64 }, () => new AbortController())
    await Promise.all(controllers.map(async ({ signal }) => await fetch(`${url}/api/events`, { headers, signal })))
    const listen26 = { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params: {} }
    for (const [path, init] of [
      ['/api/events', {}],
      [`/api/sessions/${'0'.repeat(32)}/events`, {}],
      ['/api/agents/none/sessions', { method: 'POST', body: '{}', headers: { ...headers, accept: 'text/event-stream' } }],
      ['/mcp', { method: 'POST', body: JSON.stringify(listen26) }]
    ] as const) {
      const refused = await fetch(`${url}${path}`, { headers, signal: AbortSignal.timeout(5000), ...init })
      assert.deepEqual([path, refused.status, (await refused.json() as { code: string }).code], [path, 503, 'TOO_MANY_STREAMS'])
    }
    assert.equal((await fetch(`${url}/api/events`, { headers: bearer('other'), signal: AbortSignal.timeout(5000) })).status, 200)
    for (const controller of controllers) controller.abort()
    await waitFor('a stream that is free again', async () => {
      const leaving = new AbortController()
      const { status } = await fetch(`${url}/api/events`, { headers, signal: leaving.signal })
      leaving.abort()
      return status === 200
    })
  })

  it('tells who may decide, and the owner, of a session in which something waits, until it was decided', async t => {
    const tokens = [tokenEntry('ann', 'run'), tokenEntry('bob', 'run'), tokenEntry('eve', 'approve'), tokenEntry('rob', 'approve:runs=agents.*'), tokenEntry('max', 'read')]
    const service = await (await askingPlace(t, tokens)).start()
    const url = await service.listen()
    const heard = async (next: () => Promise<Told | 'ended'>, kind: string, id: string): Promise<void> => { assert.deepEqual(await next(), { event: 'waiting', data: { kinds: [kind], ids: [id] } }) }
    const following = async (name: string) => await follow(t, url, bearer(name))
    const [ann, bob, eve, rob, max] = [await following('ann'), await following('bob'), await following('eve'), await following('rob'), await following('max')]
    const { id, approval } = await service.walk(bearer('ann'))
    await heard(ann, 'sessions', id)
    await heard(eve, 'approvals', id)
    const { status } = await service.post(`/api/approvals/${String(approval['id'])}`, { decision: 'approve', digest: approval['digest'] }, bearer('eve'))
    assert.equal(status, 200)
    await heard(ann, 'sessions', id)
    await heard(eve, 'approvals', id)
    const own = await service.walk(bearer('bob'))
    await heard(bob, 'sessions', own.id)
    await service.app.close()
    assert.deepEqual([await rob(), await max()], ['ended', 'ended'])
  })

  it('tells of what waits in a session of another process', async t => {
    const redis = await startRedisServer()
    t.after(() => redis.stop())
    const agent = { mode: 'tools', help: 'Ask.', system: 'You are the desk.', tools: [], messages: {} }
    const environment = { SESSION_STORE: redis.url, LLM_BASE_URL: 'builtin:echo' }
    const [one, other] = [await startService(t, { 'agents:desk': agent }, environment), await startService(t, { 'agents:desk': agent }, environment)]
    const next = await follow(t, await other.listen())
    const { json } = await one.post('/api/agents/desk/sessions')
    assert.deepEqual(await next(), { event: 'waiting', data: { kinds: ['sessions'], ids: [json['id']] } })
  })

  it('ends when the service stops', async t => {
    const { listen, app } = await startService(t, {})
    const next = await follow(t, await listen())
    const [told] = await Promise.all([next(), app.close()])
    assert.equal(told, 'ended')
  })

  it('that is asked for while the service stops ends at once', { timeout: 30_000 }, async t => {
    assert.match(await sendLateRequest(t, await startService(t, {}), '/api/events', ''), /^HTTP\/1.1 200 /)
  })
})
