import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'

const tool = { type: 'restful', url: 'http://127.0.0.1:1/' }
const registrations = {
  'environs:vscode:rules': '"x"',
  'environs:vscode:editor': '{"tab":2}',
  'environs:chat:s1': '"x"',
  'environs:lonely': '"x"',
  'environs:team:name': '"x"',
  'tools:codebase:lookup_ref': tool,
  'tools:idle': tool,
  'tools:offered': tool,
  'templates:asks': { userPrompt: 'x', defaults: { toolLoop: { tools: ['offered'] } } },
  'templates:whole': '{{json vscode}}',
  'templates:rules': '{{vscode.rules}}',
  'templates:tab': { userPrompt: '{{.vscode.editor.tab}}', syntax: 'go' },
  'templates:history': '{{lookup chat variables.s}}',
  'templates:outer': '{{> middle}}',
  'templates:middle': '{{> rules}}',
  'templates:calls': '{{codebase_lookup_ref}}',
  'templates:around': '{{> calls}}{{codebase_lookup_ref "x"}}',
  'templates:round_a': '{{#if variables.x}}{{> round_b}}{{/if}}',
  'templates:round_b': '{{#if variables.x}}{{> round_a}}{{/if}}',
  'templates:block': '{{#variables.on}}{{team.name}}{{now}}{{/variables.on}}',
  'templates:inline': '{{#*inline "row"}}{{team.name}}{{/inline}}{{> row}}',
  'templates:layout': '{{#> rules_layout}}{{team.name}}{{/rules_layout}}',
  'templates:variable': '{{lookup variables "rules"}}'
}
const direct = (id: string) => ({ id, direct: true, through: [] })

const cases: ReadonlyArray<readonly [url: string, users: readonly unknown[]]> = [
  ['/api/environs/vscode.rules/used-by', [{ id: 'middle', direct: false, through: ['rules'] }, { id: 'outer', direct: false, through: ['rules'] }, direct('rules'), direct('whole')]],
  ['/api/environs/vscode:editor/used-by', [direct('tab'), direct('whole')]],
  ['/api/environs/chat.s1/used-by', [direct('history')]],
  ['/api/environs/chat/used-by', [direct('history')]],
  ['/api/environs/team.name/used-by', [direct('block'), direct('inline'), direct('layout')]],
  ['/api/environs/lonely/used-by', []],
  ['/api/tools/codebase.lookup_ref/used-by', [{ id: 'around', direct: true, through: ['calls'] }, direct('calls')]],
  ['/api/tools/idle/used-by', []],
  ['/api/tools/offered/used-by', [direct('asks')]],
  ['/api/prompts/rules/used-by', [direct('middle'), { id: 'outer', direct: false, through: ['middle'] }]],
  ['/api/prompts/round_a/used-by', [{ id: 'round_a', direct: false, through: ['round_b'] }, { id: 'round_b', direct: true, through: [] }]],
  ['/api/prompts/outer/used-by', []]
]

const started = shared(suite => startService(suite, registrations))

describe('GET /api/{kind}/{id}/used-by', () => {
  for (const [url, users] of cases) {
    it(`${url} gives ${users.length} prompts`, async () => {
      const { get } = await started()
      const { status, json } = await get(url)
      assert.equal(status, 200)
      assert.deepEqual(json, users)
    })
  }

  const unknown = [['/api/environs/vscode2.rules/used-by', 'ENVIRON_NOT_FOUND'], ['/api/environs/variables.s/used-by', 'ENVIRON_NOT_FOUND'], ['/api/tools/none/used-by', 'TOOL_NOT_FOUND'], ['/api/prompts/none/used-by', 'PROMPT_NOT_FOUND']] as const
  for (const [url, code] of unknown) {
    it(`${url} answers 404 ${code}`, async () => {
      const { get } = await started()
      const { status, json } = await get(url)
      assert.deepEqual([status, json['code']], [404, code])
    })
  }

  it('names the next page in the Link header, and the pages give every user once', async () => {
    const { app } = await started()
    const seen: string[] = []
    for (let url: string | undefined = '/api/environs/vscode.rules/used-by?limit=1'; url !== undefined;) {
      const reply: Awaited<ReturnType<typeof app.inject>> = await app.inject(url)
      seen.push(...reply.json<Array<{ id: string }>>().map(({ id }) => id))
      url = /^<(.*)>; rel="next"$/.exec(String(reply.headers.link ?? ''))?.[1]
    }
    assert.deepEqual(seen, ['middle', 'outer', 'rules', 'whole'])
  })

  it('has as many rows as the listing of shared variables says, versions that labels mean among them', async t => {
    const { app, get } = await startService(t, registrations, { VERSIONS: 'http' })
    for (const userPrompt of ['{{vscode.rules}}{{lonely}}', 'no more']) await app.inject({ method: 'PUT', url: '/api/prompts/outer', payload: { userPrompt } })
    const moved = await app.inject({ method: 'PUT', url: '/api/prompts/outer/labels/production', payload: { version: 2 } })
    assert.equal(moved.statusCode, 200, moved.body)
    const rows = (await get('/api/environs?detail=true&users=true')).json as unknown as ReadonlyArray<{ readonly id: string, readonly users: number }>
    const counted = await Promise.all(rows.map(async ({ id }) => (await app.inject(`/api/environs/${id}/used-by`)).json<unknown[]>().length))
    assert.deepEqual(rows.map(({ users }) => users), counted)
    assert.ok(counted.some(count => count > 3) && rows.some(({ id, users }) => id === 'lonely' && users === 1), JSON.stringify(rows))
  })

  it('follows the registry', async t => {
    const { app, get, post, store } = await startService(t, registrations)
    assert.deepEqual((await get('/api/environs/lonely/used-by')).json, [])
    store.set('shenma:templates:late', '{{lonely}}')
    await post('/api/status/reload')
    assert.deepEqual((await app.inject('/api/environs/lonely/used-by')).json(), [direct('late')])
  })
})

describe('GET /api/prompts/{id}/mentions', () => {
  const agent = (system: string) => ({ mode: 'tools', system, tools: [] })
  const mentioning = {
    'templates:team:rules': 'x',
    'templates:team:rules:short': 'x',
    'agents:names': agent('{{> "team.rules"}}'),
    'agents:longer': agent('{{> "team.rules.short"}} my.team.rules team.rules-2'),
    'skills:deep': { description: 'Says: see team.rules.', body: 'x' },
    'plans:careful': { description: 'x', prompt: 'As team.rules@7 says' },
    'tools:there': { type: 'restful', url: 'http://127.0.0.1:1/api/render/prompts/team.rules' }
  }
  it('gives agents, skills, plans and tools with the id as a whole word in a text', async t => {
    const { get } = await startService(t, mentioning)
    const { json } = await get('/api/prompts/team.rules/mentions')
    const found = (json as unknown as ReadonlyArray<{ readonly kind: string, readonly id: string }>).map(({ kind, id }) => `${kind} ${id}`)
    assert.deepEqual([...found].sort(), ['agents names', 'plans careful', 'skills deep', 'tools there'])
    assert.deepEqual((await get('/api/prompts/none/mentions')).status, 404)
  })
})
