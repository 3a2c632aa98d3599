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

  it('follows the registry', async t => {
    const { app, get, post, store } = await startService(t, registrations)
    assert.deepEqual((await get('/api/environs/lonely/used-by')).json, [])
    store.set('shenma:templates:late', '{{lonely}}')
    await post('/api/status/reload')
    assert.deepEqual((await app.inject('/api/environs/lonely/used-by')).json(), [direct('late')])
  })
})
