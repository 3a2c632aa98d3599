import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonView, startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

const registrations = {
  'tools:m:broken': '{"url":',
  'tools:m:wrong': { url: 5 },
  'templates:team:broken': '{"messages":',
  'templates:team:invalid': { userPrompt: '{{#if', syntax: 'handlebars' },
  'templates:other:broken': '{"messages":',
  'extensions:team:ext': '{"name":"team.ext","contributes":{',
  'extensions:other': '{"name":"other"',
  'extensions:future': { name: 'future', engines: { version: '^99.0.0' }, contributes: { prompts: [{ name: 'p', userPrompt: 'x' }] } },
  'extensions:themes': { name: 'themes', extensionType: 'theme', contributes: { prompts: [{ name: 'p', userPrompt: 'x' }] } },
  'templates:team:asks': '{{m_broken 1}}',
  'templates:team:asks_go': '{{m_wrong 1 | printf "%s"}}',
  'templates:team:includes': '{{> broken}}',
  'templates:team:includes_full': '{{> other.broken}}',
  'templates:team:includes_ext': '{{> team.ext.one}}',
  'templates:team:includes_invalid': '{{> invalid}}',
  'templates:team:through': '{{> asks}}',
  'templates:team:loops': { userPrompt: 'x', defaults: { toolLoop: { tools: ['m.broken'] } } },
  'templates:team:mistypes': '{{m_brokn 1}}'
}

interface Found { readonly message: string, readonly hint: string }

const HINT = 'correct what is stored there: GET /api/status/entries says what is wrong with it'

function diagnosticsOf (reply: JsonView | undefined): Found[] {
  return (reply?.['diagnostics'] ?? []) as unknown as Found[]
}

const started = shared(suite => startService(suite, registrations))

describe('a name whose entry was rejected', () => {
  const rejected = [
    ['team.asks', 'shenma:tools:m:broken'],
    ['team.asks_go', 'shenma:tools:m:wrong'],
    ['team.includes', 'shenma:templates:team:broken'],
    ['team.includes_full', 'shenma:templates:other:broken'],
    ['team.includes_ext', 'shenma:extensions:team:ext'],
    ['team.through', 'shenma:tools:m:broken'],
    ['team.loops', 'shenma:tools:m:broken']
  ] as const
  for (const [id, key] of rejected) {
    it(`is told of by a render of ${id}`, async () => {
      const { post } = await started()
      const { json } = await post(`/api/render/prompts/${id}`, {})
      const [found] = diagnosticsOf(json['details'])
      assert.equal(json['code'], 'TEMPLATE_LINK')
      assert.match(String(json['message']), new RegExp(`\\(what is stored under ${key} could not be loaded\\)`))
      assert.equal(found?.hint, HINT)
    })
  }

  for (const id of ['team.mistypes', 'team.includes_invalid']) {
    it(`is not said to be one that ${id} merely cannot use`, async () => {
      const { post } = await started()
      assert.doesNotMatch(JSON.stringify((await post(`/api/render/prompts/${id}`, {})).json), /could not be loaded/)
    })
  }

  it('is told of by a lint, by the prompt and by the listing of what is wrong', async () => {
    const { get, post } = await started()
    const lint = diagnosticsOf((await post('/api/lint', { template: '{{m_broken 1}}' })).json)
    const detail = diagnosticsOf((await get('/api/prompts/team.asks')).json)
    const listed = (await get('/api/status/entries')).json as unknown as Array<JsonView & { cursor: string }>
    const row = diagnosticsOf(listed.find(({ cursor }) => cursor === 'prompts/team.asks'))
    assert.deepEqual([lint, detail, row].map(found => found[0]?.hint), [HINT, HINT, HINT])
  })

  it('is one that is rejected now, whenever its users were linked', async t => {
    const { post, store } = await startService(t, { 'templates:p': '{{m_tool 1}}' })
    const message = async () => String((await post('/api/render/prompts/p', {})).json['message'])
    const told: boolean[] = []
    for (const text of ['{', undefined]) {
      if (text === undefined) store.delete('shenma:tools:m:tool')
      else store.set('shenma:tools:m:tool', text)
      await post('/api/status/reload')
      told.push(/could not be loaded/.test(await message()))
    }
    assert.deepEqual(told, [true, false])
  })

  it('is not told of to a token that may not see it', async t => {
    const API_TOKENS = [tokenEntry('limited', 'read+render:prompts=team.*'), tokenEntry('all', 'admin')].join('\n')
    const { post } = await startService(t, registrations, { API_TOKENS })
    const hint = async (id: string, name: string) => diagnosticsOf((await post(`/api/render/prompts/${id}`, {}, bearer(name))).json['details'])[0]?.hint === HINT
    assert.deepEqual([await hint('team.includes_full', 'all'), await hint('team.includes_full', 'limited'), await hint('team.includes', 'limited')], [true, false, true])
  })
})

describe('what is stored and cannot be used', () => {
  const missing = [
    ['prompts/team.broken', 'PROMPT_NOT_FOUND', 'shenma:templates:team:broken'],
    ['prompts/team.ext.one', 'PROMPT_NOT_FOUND', 'shenma:extensions:team:ext'],
    ['prompts/team:ext:one/used-by', 'PROMPT_NOT_FOUND', 'shenma:extensions:team:ext'],
    ['extensions/team.ext', 'EXTENSION_NOT_FOUND', 'shenma:extensions:team:ext'],
    ['tools/m.broken', 'TOOL_NOT_FOUND', 'shenma:tools:m:broken'],
    ['tools/m:broken/used-by', 'TOOL_NOT_FOUND', 'shenma:tools:m:broken']
  ] as const
  for (const [path, code, key] of missing) {
    it(`is the reason why ${path} is not found`, async () => {
      const { get } = await started()
      const { status, json } = await get(`/api/${path}`)
      assert.deepEqual([status, json['code'], json['details']?.['key']], [404, code, key])
      assert.match(String(json['message']), new RegExp(`not found; what is stored under ${key} cannot be used: the value is not valid JSON: .* at line 1, column`))
    })
  }

  const withheld = [['future.p', /its extension "future" offers none: engines\.version \^99\.0\.0 does not admit/], ['themes.p', /its extension "themes" offers none: prompts of the type "theme" are not run/]] as const
  for (const [id, message] of withheld) {
    it(`is told apart from ${id}, whose extension offers no prompts`, async () => {
      const { get } = await started()
      const { status, json } = await get(`/api/prompts/${id}`)
      assert.equal(status, 404)
      assert.match(String(json['message']), message)
    })
  }

  it('is no reason for a token that may not see the extension', async t => {
    const API_TOKENS = [tokenEntry('limited', 'read:prompts=team.*'), tokenEntry('all', 'admin')].join('\n')
    const { get } = await startService(t, registrations, { API_TOKENS })
    const key = async (path: string, name: string) => (await get(`/api/${path}`, bearer(name))).json['details']?.['key']
    assert.equal(await key('prompts/other.x', 'all'), 'shenma:extensions:other')
    assert.deepEqual([await key('prompts/other.x', 'limited'), await key('prompts/team.ext.one', 'limited'), await key('extensions/team.ext', 'limited')], [undefined, undefined, undefined])
  })
})
