import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'

const registrations = {
  'templates:a': '{{bare}}',
  'templates:b': '{{variables.fine}}',
  'templates:c': '{{nope 1}}',
  'templates:d': { userPrompt: '{{#if', syntax: 'handlebars' },
  'templates:rejected': '{"messages":',
  'extensions:e': { name: 'e', contributes: { prompts: [] } },
  'tools:relative': { type: 'restful', url: '/x' },
  'tools:if': { type: 'restful', url: 'http://127.0.0.1:1/' }
}

/** A prompt whose label `old` serves a version that cannot run. @param path the id as keys have it */
const broken = (path: string): object => ({
  [`versions:${path}:1`]: { entry: '{{nope 1}}' },
  [`releases:${path}`]: { next: 2, labels: { old: 1 }, moves: [], versions: [{ n: 1, tag: 'tag', at: '2026-11-20T10:00:00Z', by: 'ana' }] },
  [`templates:${path}`]: '{{bare}}'
})

/** An agent that names a tool that nobody has registered. */
const unknowing = { mode: 'tools', tools: [{ tool: 'not.there' }] }

interface Row { readonly cursor: string, readonly state: string, readonly diagnostics: ReadonlyArray<{ code: string, line: number, column: number, hint: string }> }

const started = shared(suite => startService(suite, registrations))
const startedWithMore = shared(suite => startService(suite, { ...registrations, ...broken('a'), ...broken('a:b'), 'agents:one': unknowing, 'agents:two': unknowing }))

describe('GET /api/status/entries', () => {
  it('lists what is not served first, then everything with something to say', async () => {
    const { app } = await started()
    const rows = (await app.inject('/api/status/entries')).json<Row[]>()
    assert.deepEqual(rows.map(({ cursor, state, diagnostics }) => `${cursor} ${state} ${diagnostics[0]?.code}`), [
      'entries/shenma:templates:rejected rejected VALUE_INVALID',
      'entries/shenma:tools:if rejected FUNCTION_RESERVED',
      'prompts/a valid BARE_VARIABLE',
      'prompts/c unlinked FUNCTION_UNKNOWN',
      'prompts/d invalid SYNTAX',
      'tools/relative valid TOOL_BASE_URL_MISSING'
    ])
  })

  it('has what is stored with a mistake, to be mended, also where an earlier version is served', async t => {
    const { app, store, get, post } = await startService(t, { 'templates:never': 'a {{#if b}}', 'templates:later': 'Good.' })
    store.set('shenma:templates:later', 'a {{#if c}}')
    await post('/api/status/reload')
    assert.deepEqual([(await get('/api/prompts/never')).status, (await get('/api/prompts/later')).json['prompt']], [400, { userPrompt: 'Good.' }])
    for (const [id, text] of [['never', 'a {{#if b}}'], ['later', 'a {{#if c}}']]) {
      const url = `/api/prompts/${String(id)}`
      const { status, headers, json } = await get(`${url}?broken=true`)
      assert.deepEqual([status, json['prompt'], json['diagnostics']?.['0']?.['code']], [200, { userPrompt: text }, 'SYNTAX'])
      assert.equal((await app.inject({ method: 'PUT', url, headers: { 'if-match': String(headers['etag']) }, payload: { userPrompt: 'Mended.' } })).statusCode, 200)
      assert.deepEqual((await get(`${url}?broken=true`)).json['prompt'], { userPrompt: 'Mended.' })
    }
  })

  it('tells of a tool without an address until its module publishes one, and again when that goes', async t => {
    const { app, store, get, post } = await startService(t, { 'tools:t:f': { module: 't', restful: { url: '/x', method: 'GET' } }, 'environs:other': '1' })
    const told = async () => [
      (await app.inject('/api/status/entries')).json<Row[]>().flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code)),
      (await get('/api/tools/t.f')).json['diagnostics']?.['0']?.['code']
    ]
    assert.deepEqual(await told(), [['TOOL_BASE_URL_MISSING'], 'TOOL_BASE_URL_MISSING'])
    store.set('shenma:environs:modules:t', '"http://127.0.0.1:1"')
    await post('/api/status/reload')
    assert.deepEqual(await told(), [[], undefined])
    store.delete('shenma:environs:modules:t')
    await post('/api/status/reload')
    assert.deepEqual(await told(), [['TOOL_BASE_URL_MISSING'], 'TOOL_BASE_URL_MISSING'])
  })

  it('gives every diagnostic a place and a hint', async () => {
    const { app } = await started()
    for (const { diagnostics } of (await app.inject('/api/status/entries')).json<Row[]>()) {
      for (const { line, column, hint } of diagnostics) assert.ok(line >= 1 && column >= 1 && hint !== '')
    }
  })

  for (const limit of [1, 2, 5]) {
    it(`gives everything once in pages of ${limit}, whose next one the Link header names`, async () => {
      const { app } = await startedWithMore()
      const whole = (await app.inject('/api/status/entries')).json<Row[]>()
      assert.deepEqual(whole.map(({ cursor }) => cursor).slice(-5), ['releases/a.b@old', 'releases/a@old', 'tools/relative', 'agents/one', 'agents/two'])
      const seen: Row[] = []
      for (let url: string | undefined = `/api/status/entries?limit=${limit}`; url !== undefined;) {
        const reply: Awaited<ReturnType<typeof app.inject>> = await app.inject(url)
        const rows = reply.json<Row[]>()
        assert.ok(rows.length <= limit)
        seen.push(...rows)
        assert.ok(seen.length <= whole.length)
        url = /^<(.*)>; rel="next"$/.exec(String(reply.headers.link ?? ''))?.[1]
      }
      assert.deepEqual(seen, whole)
    })
  }

  it('follows what is published', async t => {
    const { app, store, post } = await startService(t, { 'templates:p': '{{vscode.rules}}' })
    assert.equal((await app.inject('/api/status/entries')).json<Row[]>()[0]?.diagnostics[0]?.code, 'VARIABLE_UNSATISFIABLE')
    store.set('shenma:environs:vscode:rules', '"x"')
    await post('/api/status/reload')
    assert.deepEqual((await app.inject('/api/status/entries')).json(), [])
  })

  it('tells in a prompt\'s details what it tells in the list', async () => {
    const { get } = await started()
    assert.equal((await get('/api/prompts/a')).json['diagnostics']?.['0']?.['code'], 'BARE_VARIABLE')
  })

  for (const query of ['limit=0', 'limit=501', 'limit=x']) {
    it(`answers 400 for ?${query}`, async () => {
      const { get } = await started()
      assert.equal((await get(`/api/status/entries?${query}`)).status, 400)
    })
  }
})
