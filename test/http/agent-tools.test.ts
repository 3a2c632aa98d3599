import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type JsonView, type Service, startService } from '../helpers/service.ts'

const TOOLS = {
  'tools:rag:search': { url: 'http://127.0.0.1:1/search', parameters: [{ name: 'question' }, { name: 'top_k', default: 2 }] },
  'tools:free:form': { url: 'http://127.0.0.1:1/free' },
  'tools:open:schema': { url: 'http://127.0.0.1:1/open', parameters: { type: 'object', properties: { a: {} }, additionalProperties: true } }
}

/** An agent with one tool. */
function agentWith (tool: object): object {
  return { mode: 'tools', tools: [tool] }
}

const start = (t: TestContext): Promise<Service> => startService(t, TOOLS)

async function lint ({ post }: Service, body: object): Promise<string[]> {
  const { json } = await post('/api/lint', body)
  return (json['diagnostics'] as unknown as ReadonlyArray<{ severity: string, code: string, hint: string }>).map(({ severity, code, hint }) => `${severity} ${code}: ${hint}`)
}

describe('An agent that names what is not registered', () => {
  const cases: ReadonlyArray<readonly [title: string, tool: object, expected: readonly string[]]> = [
    ['a tool', { tool: 'rag.serch' }, ['error TOOL_UNKNOWN: write rag.search, if that is what you mean; else register the tool, or correct the name']],
    ['a tool of its health', { tool: 'free.form', health: 'free:from' }, ['error TOOL_UNKNOWN: write free.form, if that is what you mean; else register the tool, or correct the name']],
    ['a parameter', { tool: 'rag:search', parameters: { questoin: {} } }, ['error PARAMETER_UNKNOWN: write question, if that is what you mean; else correct the name, or what the tool declares']],
    ['a fixed argument', { tool: 'rag.search', arguments: { topk: 1 } }, ['error PARAMETER_UNKNOWN: write top_k, if that is what you mean; else correct the name, or what the tool declares']],
    ['nothing, with a tool that declares no parameters', { tool: 'free.form', parameters: { any: {} } }, []],
    ['nothing, with a tool that takes any', { tool: 'open.schema', parameters: { any: {} } }, []],
    ['nothing', { tool: 'rag.search', parameters: { question: {} }, arguments: { top_k: 2 } }, []]
  ]
  it('is told so by a lint, with the near name', async t => {
    const service = await start(t)
    for (const [title, tool, expected] of cases) assert.deepEqual(await lint(service, { agent: agentWith(tool) }), expected, title)
  })

  it('is published with a warning, and reported as long as the tool is not there', async t => {
    const { app, get } = await start(t)
    const payload = agentWith({ tool: 'not.there' })
    const { statusCode, body } = await app.inject({ method: 'PUT', url: '/api/agents/helper', payload })
    const { diagnostics } = JSON.parse(body) as { diagnostics: ReadonlyArray<{ severity: string, code: string }> }
    assert.deepEqual([statusCode, ...diagnostics.map(({ severity, code }) => `${severity} ${code}`)], [201, 'warning TOOL_UNKNOWN'])
    const noticed = (await get('/api/status/entries')).json as unknown as readonly JsonView[]
    assert.deepEqual(noticed.filter(({ id }) => String(id) === 'helper').map(({ diagnostics: found }) => found?.['0']?.['code']), ['TOOL_UNKNOWN'])
    await app.inject({ method: 'PUT', url: '/api/tools/not.there', payload: { url: 'http://127.0.0.1:1/' } })
    assert.deepEqual(((await get('/api/status/entries')).json as unknown as readonly JsonView[]).filter(({ id }) => String(id) === 'helper'), [])
  })

  it('comes with an extension all the same', async t => {
    const service = await start(t)
    const extension = { name: 'support', version: '1.0.0', extensionType: 'agent', contributes: { agents: [{ name: 'helper', ...agentWith({ tool: 'not.there' }) }] } }
    assert.deepEqual((await lint(service, { extension })).map(text => text.split(':')[0]), ['warning TOOL_UNKNOWN'])
  })
})
