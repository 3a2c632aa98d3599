import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startService } from '../../helpers/service.ts'
import { shared } from '../../helpers/shared.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'

const registrations = {
  'templates:team:open': 'open {{> shared.part}}',
  'templates:team:branch': '{{json chat}}',
  'templates:team:loop': '{{#each chat}}{{@key}} {{/each}}',
  'templates:team:loop_go': '{{range $k, $v := .chat}}{{$k}} {{end}}',
  'templates:team:dynamic': '{{lookup (lookup chat variables.id) "text"}}',
  'templates:team:dynamic_go': '{{index .chat .variables.id "text"}}',
  'templates:team:by_name': '{{chat.bob.text}}',
  'templates:team:forged': '{{vault}}',
  'templates:team:misspelt': '{{chat.boob.text}}{{chat.adda.text}}',
  'templates:team:partial': '{{> shared.reads_bob}}',
  'templates:team:reads': '{{> shared.reads_ada}}',
  'templates:team:root': '{{#each this}}{{@key}} {{/each}}',
  'templates:shared:part': 'part',
  'templates:shared:reads_ada': '{{chat.ada.text}}',
  'templates:shared:reads_bob': '{{chat.bob.text}}',
  'templates:shared:secret': 'secret',
  'templates:shared:rejected': '{"secret',
  'templates:shared:broken': { userPrompt: '{{#if', syntax: 'handlebars' },
  'extensions:mixed': { name: 'team', version: '1.0.0', contributes: { prompts: [{ name: 'listed', userPrompt: 'x' }] } },
  'extensions:hidden': { name: 'hidden', version: '1.0.0', contributes: { prompts: [{ name: 'one', userPrompt: 'top secret text' }] } },
  'environs:chat:ada:text': '"of ada"',
  'environs:chat:bob:text': '"of bob"',
  'environs:vault': '"the vault"',
  'environs:bad:one': '{"broken'
}
const API_TOKENS = [
  tokenEntry('ada', 'read+render:prompts=team.*:environs=chat.ada.*'),
  tokenEntry('writer', 'write:prompts=team.*:environs=chat.ada.*'),
  tokenEntry('all', 'admin')
].join('\n')

const hidden = /bob|vault|secret|hidden/

const started = shared(suite => startService(suite, registrations, { API_TOKENS }))

describe('a token with patterns of prompts', () => {
  const listings = [
    ['/api/prompts?limit=50', ['team.branch', 'team.by_name', 'team.dynamic', 'team.dynamic_go', 'team.forged', 'team.listed', 'team.loop', 'team.loop_go', 'team.misspelt', 'team.open', 'team.partial', 'team.reads', 'team.root']],
    ['/api/extensions', ['mixed']],
    ['/api/environs', ['chat.ada.text']],
    ['/api/environs?prefix=chat.b', []],
    ['/api/prompts/team.open/used-by', []]
  ] as const
  for (const [url, ids] of listings) {
    it(`sees of ${url} only ${JSON.stringify(ids)}`, async () => {
      const { get } = await started()
      assert.deepEqual((await get(url, bearer('ada'))).json, ids)
    })
  }

  const absent = [
    ['GET', '/api/prompts/shared.secret'],
    ['GET', '/api/prompts/shared.rejected'],
    ['GET', '/api/prompts/shared.secret/needs'],
    ['GET', '/api/prompts/shared.part/used-by'],
    ['GET', '/api/extensions/hidden'],
    ['POST', '/api/render/prompts/shared.secret'],
    ['POST', '/api/render/prompts/shared:secret?explain=true'],
    ['GET', '/api/environs/chat.bob.text'],
    ['GET', '/api/environs/chat.bob'],
    ['GET', '/api/environs/vault'],
    ['GET', '/api/environs/vault/used-by']
  ] as const
  for (const [method, url] of absent) {
    it(`gets for ${method} ${url} the same 404 as for what is not registered`, async () => {
      const { app } = await started()
      const reply = await app.inject({ method, url, headers: bearer('ada') })
      assert.equal(reply.statusCode, 404)
      assert.deepEqual(Object.keys(reply.json().details), ['id', 'near'])
      assert.deepEqual(reply.json().details.near.filter((id: string) => hidden.test(id) || id.startsWith('shared.')), [])
    })
  }

  it('may use partials of others through a prompt that is allowed', async () => {
    const { post } = await started()
    assert.equal((await post('/api/render/prompts/team.open', {}, bearer('ada'))).json['rendered_prompt'], 'open part')
  })

  it('is told of prompts that it may see and that use something through a partial that it may not', async () => {
    const { get } = await started()
    const users = async (name: string) => (await get('/api/environs/chat.ada.text/used-by', bearer(name))).json as unknown as Array<{ id: string }>
    assert.deepEqual((await users('ada')).find(({ id }) => id === 'team.reads'), { id: 'team.reads', direct: false, through: [] })
    assert.deepEqual((await users('all')).find(({ id }) => id === 'team.reads'), { id: 'team.reads', direct: false, through: ['shared.reads_ada'] })
    assert.deepEqual((await users('ada')).filter(({ id }) => !id.startsWith('team.')), [])
  })

  it('is not told of a shared variable by the prompts that it may not see', async t => {
    const { app } = await startService(t, { ...registrations, 'environs:rockets:fuel': '1', 'templates:shared:reads_code': '{{rockets.launch_code}}' }, { API_TOKENS: `${API_TOKENS}\n${tokenEntry('team', 'read:prompts=team.*')}` })
    const status = async (name: string) => (await app.inject({ url: '/api/environs/rockets.launch_code/used-by', headers: bearer(name) })).statusCode
    assert.deepEqual([await status('all'), await status('team')], [200, 404])
  })

  it('is told of nothing that it may not see as what may be meant', async () => {
    const { post } = await started()
    const hints = async (name: string) => ((await post('/api/lint', { template: '{{> opne}}{{> shared.secrt}}{{chat.boob.text}}{{chat.adda.text}}', id: 'team.x' }, bearer(name))).json['diagnostics'] as unknown as Array<{ hint: string }>).map(({ hint }) => /^write (.*), if/.exec(hint)?.[1])
    assert.deepEqual(await hints('all'), ['team.open', 'shared.secret', 'chat.bob.text', 'chat.ada.text'])
    assert.deepEqual(await hints('ada'), ['team.open', undefined, undefined, 'chat.ada.text'])
  })

  it('lints against what it may see', async () => {
    const { post } = await started()
    const lint = async (name: string) => (await post('/api/lint', { template: '{{> shared.secret}}{{chat.bob.text}}' }, bearer(name))).json['diagnostics'] as unknown as Array<{ code: string }>
    const codes = async (name: string) => (await lint(name)).map(({ code }) => code).sort()
    assert.deepEqual(await codes('all'), [])
    assert.equal((await codes('ada')).includes('VARIABLE_UNSATISFIABLE'), true)
  })

  it('is told once of a partial that it may not include', async () => {
    const { post } = await started()
    const lint = async (body: object) => ((await post('/api/lint', body, bearer('ada'))).json['diagnostics'] as unknown as Array<{ code: string, messageIndex?: number }>)
      .map(({ code, messageIndex }) => [code, messageIndex])
    const two = [{ role: 'user', content: 'a' }, { role: 'user', content: '{{> open}}' }]
    assert.deepEqual(await lint({ prompt: '{{> shared.secret}}', id: 'team.x' }), [['PARTIAL_UNKNOWN', undefined]])
    assert.deepEqual(await lint({ prompt: '{{> open}}', id: 'team.x' }), [['PARTIAL_UNKNOWN', undefined]])
    assert.deepEqual(await lint({ prompt: two, id: 'team.x' }), [['PARTIAL_UNKNOWN', 1]])
    assert.deepEqual(await lint({ prompt: '{{#> nowhere}}{{/nowhere}}', id: 'team.x' }), [['PARTIAL_UNKNOWN', undefined]])
  })

  it('sees no other prompt in the metrics', async t => {
    const { app, post } = await startService(t, registrations, { API_TOKENS })
    for (const id of ['shared.secret', 'team.open']) await post(`/api/render/prompts/${id}`, {}, bearer('all'))
    const rendered = async (name: string) => Array.from((await app.inject({ url: '/metrics', headers: bearer(name) })).body.matchAll(/renders_total\{prompt="([^"]*)"/g), ([, id]) => id)
    assert.deepEqual(await rendered('all'), ['shared.secret', 'team.open'])
    assert.deepEqual(await rendered('ada'), ['team.open'])
  })

  it('hears of bad entries that it may see, and of no others', async () => {
    const { app } = await started()
    const seen = async (name: string) => (await app.inject({ url: '/api/status/entries', headers: bearer(name) })).body
    assert.match(await seen('all'), /shenma:environs:bad:one|shared\.broken/)
    assert.doesNotMatch(await seen('ada'), /environs:bad|shared\.broken|environs:vault|hidden/)
  })
})

describe('a token with patterns of shared variables', () => {
  const renders = [
    ['its own, in full', 'team.branch', {}, '{"ada":{"text":"of ada"}}'],
    ['its own in a loop', 'team.loop', {}, 'ada '],
    ['its own in a loop of Go', 'team.loop_go', {}, 'ada '],
    ['its own by a dynamic path', 'team.dynamic', { id: 'ada' }, 'of ada'],
    ['its own by a dynamic path of Go', 'team.dynamic_go', { id: 'ada' }, 'of ada']
  ] as const
  for (const [what, id, variables, expected] of renders) {
    it(`reads ${what}`, async () => {
      const { post } = await started()
      assert.equal((await post(`/api/render/prompts/${id}`, { variables }, bearer('ada'))).json['rendered_prompt'], expected)
    })
  }

  const misses = [
    ['by name', 'team.by_name', {}],
    ['by a dynamic path', 'team.dynamic', { id: 'bob' }],
    ['by a dynamic path of Go', 'team.dynamic_go', { id: 'bob' }],
    ['through a partial', 'team.partial', {}],
    ['by a path within a segment', 'team.dynamic', { id: 'bob.text' }]
  ] as const
  for (const [how, id, variables] of misses) {
    for (const suffix of ['', '?explain=true', '?tools=record']) {
      it(`does not read another's ${how}${suffix}`, async () => {
        const { post } = await started()
        const { status, json } = await post(`/api/render/prompts/${id}${suffix}`, { variables }, bearer('ada'))
        assert.deepEqual([status, json['code']], [400, 'VARIABLE_MISSING'])
        assert.doesNotMatch(JSON.stringify(json), /of bob/)
      })
    }
  }

  it('is told of no shared variable that it may not see as what may be meant', async () => {
    const { post } = await started()
    const near = async (name: string) => {
      const { json } = await post('/api/render/prompts/team.misspelt', {}, bearer(name))
      return (json['details']?.['missing'] as unknown as Array<{ near?: string }>).map(miss => miss.near)
    }
    assert.deepEqual(await near('all'), ['chat.bob', 'chat.ada'])
    assert.deepEqual(await near('ada'), [undefined, 'chat.ada'])
  })

  it('cannot put a variable in place of a module that is kept from it', async () => {
    const { post } = await started()
    const { json } = await post('/api/render/prompts/team.forged', { variables: { vault: 'forged' } }, bearer('ada'))
    assert.deepEqual([json['code'], json['details']?.['missing']?.[0]?.['path']], ['VARIABLE_MISSING', 'vault'])
  })

  it('does not find others\' modules at the root', async () => {
    const { post } = await started()
    const { json } = await post('/api/render/prompts/team.root', {}, bearer('ada'))
    assert.equal(json['rendered_prompt'], 'args caller chat variables ')
  })

  it('is not told by an ETag that there is something below which it does not see', async t => {
    const { get } = await startService(t, { ...registrations, 'environs:chat:ada:text:hidden': '1' }, { API_TOKENS: tokenEntry('one', 'read:environs=chat.ada.text') })
    const { headers } = await get('/api/environs/chat.ada.text', bearer('one'))
    assert.ok(headers['etag'])
  })

  it('is not told by a notice either', async t => {
    const API_TOKENS = ['chat.ada.text', 'chat.ada.*'].map((pattern, index) => tokenEntry(`reader${index}`, `read+render:environs=${pattern}`)).join('\n')
    const { app, get } = await startService(t, { ...registrations, 'environs:chat:ada:text:hidden': '1' }, { API_TOKENS })
    for (const name of ['reader0', 'reader1']) await get('/api/environs/chat.ada.text', bearer(name))
    const tells = async (name: string) => (await app.inject({ url: '/api/status/entries', headers: bearer(name) })).body.includes('VALUE_SHADOWED')
    assert.deepEqual([await tells('reader0'), await tells('reader1')], [false, true])
  })

  it('leaves others\' tokens what they see', async () => {
    const { post } = await started()
    assert.equal((await post('/api/render/prompts/team.by_name', {}, bearer('all'))).json['rendered_prompt'], 'of bob')
  })
})

describe('a token with patterns that may write', () => {
  const publications = [
    ['a prompt that is allowed', 'prompts/team.new', '"Hi {{> team.open}}"', 201],
    ['another prompt', 'prompts/shared.new', '"Hi"', 403],
    ['a prompt that includes one that is kept from it', 'prompts/team.steals', '"{{> shared.secret}}"', 400],
    ['a prompt that includes such a one where it is there, and is a body where not', 'prompts/team.steals', '"{{#> shared.secret}}not there{{/shared.secret}}"', 400],
    ['a prompt that defines a partial of such a name, but not always', 'prompts/team.steals', '"{{#if x}}{{#*inline \\"shared.secret\\"}}{{/inline}}{{/if}}{{> shared.secret}}"', 400],
    ['a prompt that includes one by a name that may come to stand for such a one', 'prompts/team.steals', '"{{> open}}"', 400],
    ['a shared variable that is allowed', 'environs/chat.ada.mood', '"good"', 201],
    ['another shared variable', 'environs/chat.bob.mood', '"bad"', 403],
    ['an extension', 'extensions/team', '{"name":"team","version":"1.0.0","contributes":{}}', 403],
    ['a tool', 'tools/a.b', '{"name":"b","type":"restful","url":"/b"}', 403]
  ] as const
  // Each publishes an entry of its own, or none.
  const startedToWrite = shared(suite => startService(suite, registrations, { API_TOKENS }))
  for (const [what, path, payload, status] of publications) {
    it(`gets ${status} for publishing ${what}`, async () => {
      const { app } = await startedToWrite()
      const reply = await app.inject({ method: 'PUT', url: `/api/${path}`, payload, headers: { ...bearer('writer'), 'content-type': 'application/json' } })
      assert.equal(reply.statusCode, status, reply.body)
    })
  }

  it('cannot withdraw what it does not see', async t => {
    const { app } = await startService(t, registrations, { API_TOKENS })
    const withdraw = async (path: string) => (await app.inject({ method: 'DELETE', url: `/api/${path}`, headers: bearer('writer') })).statusCode
    assert.deepEqual([await withdraw('prompts/shared.secret'), await withdraw('environs/vault'), await withdraw('prompts/team.open')], [403, 403, 204])
  })
})
