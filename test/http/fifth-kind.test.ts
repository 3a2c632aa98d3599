import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { contentHash, type JsonObject } from '../../src/base/json.ts'
import { Type } from '../../src/schema/builder.ts'
import { KIND_ROUTES, type KindRoute } from '../../src/http/routes/entries.ts'
import { reject } from '../../src/registry/diagnostic.ts'
import { defineKind, type Definition } from '../../src/registry/kinds/entry-kind.ts'
import { startService } from '../helpers/service.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

interface Greeting extends Definition {
  readonly words: string
}

const greetingKind = defineKind<Greeting>({
  key: 'greetings',
  name: 'greetings',
  noun: 'greeting',
  access: 'runs',
  define (id, value, origin) {
    const source = value as JsonObject
    if (typeof source['words'] !== 'string') throw reject('SCHEMA', 'words must be text')
    const diagnostics = source['words'] === '' ? [{ severity: 'hint', code: 'EMPTY', message: 'it says nothing' } as const] : []
    return { id, origin, source, words: source['words'], diagnostics, hash: contentHash(source) }
  }
})

const ROUTE: KindRoute = { kind: greetingKind, path: 'greetings', name: 'Greeting', body: Type.Object({}, { additionalProperties: true }), example: { id: 'trial', value: { words: 'Hi' } }, about: '' }

const start = (t: TestContext, registrations: Readonly<Record<string, unknown>>, environment = {}) => startService(t, registrations, environment, { kindRoutes: [...KIND_ROUTES, ROUTE] })

describe('A fifth kind, made of one row', () => {
  it('is listed and read', async t => {
    const { get } = await start(t, { 'greetings:team:hello': { words: 'Hello' } })
    assert.deepEqual((await get('/api/greetings')).json, ['team.hello'])
    assert.deepEqual((await get('/api/greetings/team.hello')).json, { words: 'Hello', id: 'team.hello', origin: 'direct', diagnostics: [] })
  })

  it('is not found with near matches', async t => {
    const { get } = await start(t, { 'greetings:hello': { words: 'Hello' } })
    const { status, json } = await get('/api/greetings/helo')
    assert.deepEqual([status, json['message']], [404, 'There is no greeting "helo"; near matches: "hello"'])
  })

  it('is brought by an extension, and gives way to an entry of its id', async t => {
    const contributes = { prompts: [], greetings: [{ name: 'hello', words: 'from the extension' }, { name: 'bye', words: 'Bye' }] }
    const { get } = await start(t, { 'extensions:team': { name: 'team', contributes }, 'greetings:team:hello': { words: 'direct' } })
    assert.deepEqual((await get('/api/greetings')).json, ['team.bye', 'team.hello'])
    assert.equal((await get('/api/greetings/team.hello')).json['words'], 'direct')
    const { json } = await get('/api/extensions/team')
    assert.deepEqual(json['diagnostics']?.['0']?.['message'], 'greeting team.hello gives way to a greeting of that id')
  })

  it('is published, and refused where its kind refuses it', async t => {
    const { app, get } = await start(t, {})
    const put = (value: object) => app.inject({ method: 'PUT', url: '/api/greetings/new', payload: value })
    assert.equal((await put({ words: 'New' })).statusCode, 201)
    assert.equal((await get('/api/greetings/new')).json['words'], 'New')
    const refused = await put({ words: 7 })
    assert.deepEqual([refused.statusCode, refused.json<{ message: string }>().message], [400, '"new" was not stored: words must be text'])
    assert.equal((await app.inject({ method: 'DELETE', url: '/api/greetings/new' })).statusCode, 204)
    assert.deepEqual((await get('/api/greetings')).json, [])
  })

  it('is hidden from callers with patterns', async t => {
    const environment = { API_TOKENS: [tokenEntry('all', 'read'), tokenEntry('part', 'read:prompts=team.*')].join(',') }
    const { get } = await start(t, { 'greetings:hello': { words: 'Hello' }, 'greetings:bad': { words: 7 } }, environment)
    assert.deepEqual((await get('/api/greetings', bearer('all'))).json, ['hello'])
    assert.deepEqual((await get('/api/greetings', bearer('part'))).json, [])
    assert.deepEqual((await get('/api/status/entries', bearer('part'))).json, [])
  })

  it('is counted in readiness and metrics', async t => {
    const { app, get } = await start(t, { 'greetings:hello': { words: 'Hello' }, 'greetings:bad': { words: 7 } })
    const { json } = await get('/readyz')
    assert.equal(json['kinds']?.['greetings']?.['entries'], 1)
    const metrics = (await app.inject('/metrics')).body
    assert.match(metrics, /prompt_shell_registry_entries\{kind="greetings"\} 1/)
    assert.match(metrics, /prompt_shell_registry_rejected_entries\{kind="greetings"\} 1/)
  })

  it('is counted in the log, beside all others', async t => {
    const { log } = await start(t, { 'greetings:hello': { words: 'Hello' }, 'greetings:bad': { words: 7 }, 'skills:s': '---\ndescription: Says words\n---\nwords', 'environs:x': '1' }, { LOG_LEVEL: 'info' })
    const { level, time, pid, hostname, generation, revision, ...counts } = log.findLast(({ msg }) => String(msg) === 'registry published') ?? {}
    assert.deepEqual(counts, { msg: 'registry published', extensions: 0, prompts: 0, environs: 1, tools: 0, agents: 0, skills: 1, plans: 0, greetings: 1, releases: 0 })
  })

  it('is reported: what cannot be used, and what is odd', async t => {
    const { get } = await start(t, { 'greetings:bad': { words: 7 }, 'greetings:quiet': { words: '' } })
    const { json } = await get('/api/status/entries')
    assert.deepEqual([json['0']?.['key'], json['0']?.['state'], json['1']?.['cursor']], ['shenma:greetings:bad', 'rejected', 'greetings/quiet'])
  })
})
