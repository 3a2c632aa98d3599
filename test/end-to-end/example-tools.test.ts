import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { examplesFor, freeExamplePorts, startExampleTools } from '../helpers/example-tool-server.ts'
import { startRedisServer } from '../helpers/redis-server.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { startProcess } from '../helpers/service-process.ts'
import { waitFor } from '../helpers/wait-for.ts'

// The examples as a user meets them: the tool server and the service as processes. What the README's commands print is in test/docs.

const TOOLS = ['codebase.lookup_ref', 'owners.find', 'mcp.project.outline']

/** The renders with tools that docs/tools.md shows. */
const shown = commandsIn(/\n## Try the examples\n(.*)/s.exec(readFileSync('docs/tools.md', 'utf8'))?.[1] ?? '')

describe('the examples with their tool server', () => {
  it('are recorded as docs/tools.md shows, and replayed', async t => {
    const ports = await freeExamplePorts()
    await startExampleTools(t, ports)
    const { url } = await startProcess(t, { STORE_DIR: await examplesFor(t, ports), RENDER_TIMEOUT_MS: '20000' })
    await toolsToBeReady(url)
    const [, record] = commandsIn(readFileSync('docs/tools.md', 'utf8'))
    assert.ok(record !== undefined)
    const { rendered_prompt: rendered, bundle } = JSON.parse(await post(url, record.path, record.body)) as { rendered_prompt: string, bundle: object }
    assert.match(rendered, /^Review orders\/order\.go\. Its owners: @payments-core\./)
    assert.deepEqual(JSON.parse(await post(url, '/api/render/prompts/review.file', JSON.stringify({ bundle }))), { rendered_prompt: rendered, status: 'success' })
  })

  it('reach any other server of their modules by its base URL alone', async t => {
    const server = await startRestfulToolServer(t)
    const { url } = await startProcess(t, { STORE_DIR: 'examples', TOOL_BASE_URLS: `rag=${server.origin},haiku=${server.origin}/poets` })
    for (const [tool, given] of [['rag.health', {}], ['rag.search', { question: 'x' }], ['haiku.health', {}], ['haiku.generate', { theme: 'x' }]] as const) await post(url, `/api/tools/${tool}/call`, JSON.stringify({ arguments: given }))
    assert.deepEqual(server.requests.map(({ method, url: path }) => `${method} ${path}`), ['GET /health', 'POST /search', 'GET /poets/health', 'POST /poets/generate_haiku'])
  })

  it('work from Redis, where scripts/register.js puts them', async t => {
    const redis = await startRedisServer()
    t.after(() => redis.stop())
    const ports = await freeExamplePorts()
    await startExampleTools(t, ports)
    await promisify(execFile)(process.execPath, ['scripts/register.js', await examplesFor(t, ports)], { env: { PATH: process.env['PATH'], REDIS_URL: redis.url } })
    const { url } = await startProcess(t, { REDIS_URL: redis.url, RENDER_TIMEOUT_MS: '20000' })
    await toolsToBeReady(url)
    for (const { path, body, output } of shown) assert.equal(await post(url, path, body), output)
  })

  it('render with the registered defaults while it does not run, and with results once it does', async t => {
    const ports = await freeExamplePorts()
    const { url } = await startProcess(t, { STORE_DIR: await examplesFor(t, ports), RENDER_TIMEOUT_MS: '20000' })
    const explain = () => post(url, '/api/render/prompts/symbols.explain', '{"variables":{"symbol":"NewBook"}}')
    assert.equal(await explain(), '{"rendered_prompt":"Explain NewBook of the project payments.\\nIt is not known where it is used: nothing names it, or npm run example:tools is not running.","status":"success"}')
    assert.equal(await post(url, '/api/render/prompts/review.file', '{"variables":{"file":"ledger/book.go"}}'),
      '{"rendered_prompt":"Review ledger/book.go. Its owners: unknown without npm run example:tools.\\nWhat it declares is not known: there is no such file, or npm run example:tools is not running.\\n","status":"success"}')
    await startExampleTools(t, ports)
    await toolsToBeReady(url)
    await waitFor('the results to appear', async () => await explain() === shown[0]?.output)
  })

  it('have no diagnostic and make no warning in the log, without the tool server too', async t => {
    const { url, log } = await startProcess(t, { STORE_DIR: await examplesFor(t, await freeExamplePorts()) })
    await waitFor('the tools to be tried', () => log.filter(line => line.includes('could not be prepared')).length === 2)
    assert.deepEqual(await (await fetch(`${url}/api/status/entries`)).json(), [])
    assert.deepEqual(log.filter(line => (JSON.parse(line) as { level: number }).level > 30), [])
  })

  it('translate a comment with the tool that others may be given', async t => {
    const ports = await freeExamplePorts()
    await startExampleTools(t, ports)
    const { url } = await startProcess(t, { STORE_DIR: await examplesFor(t, ports) })
    const { value } = JSON.parse(await post(url, '/api/tools/translator.translate_zh_en/call', '{"arguments":{"code":"// 创建订单"}}')) as { value: unknown }
    assert.deepEqual(value, { translated_code: '// creates an order' })
  })

  it('answer what the helper agent asks, with errors for those who ask for them', async t => {
    const ports = await freeExamplePorts()
    await startExampleTools(t, ports)
    const { url } = await startProcess(t, { STORE_DIR: await examplesFor(t, ports) })
    const call = async (tool: string, given: object) => (JSON.parse(await post(url, `/api/tools/${tool}/call`, JSON.stringify({ arguments: given }))) as { value: unknown }).value
    assert.deepEqual(await call('rag.health', {}), { status: 'ok' })
    assert.deepEqual(await call('rag.search', { question: 'Как оформить отпуск?', top_k: 2 }), {
      answer: 'Заявление на отпуск подают за две недели. Отпуск длится 28 дней в году.',
      chunk_title_list: ['Отпуск', 'Больничный'],
      chunk_texts: ['Заявление на отпуск подают за две недели. Отпуск длится 28 дней в году.', 'О болезни сообщают руководителю в первый день. Больничный лист оформляет врач.']
    })
    assert.deepEqual(await call('rag.search', { question: 'Ошибка' }), { error: 'индекс перестраивается' })
    assert.deepEqual(await call('haiku.health', {}), { status: 'ok' })
    assert.deepEqual(await call('haiku.generate', { theme: 'осень' }), { haiku_text: 'Тёплый летний дождь\nСтучит в окно до утра\nПахнет резедой', syllables_per_line: [5, 7, 5], total_words: 10 })
    assert.deepEqual(await call('haiku.generate', { theme: 'ошибка' }), { error: 'муза молчит' })
  })
})

/** The curl commands of a page: path, body, and the output that stands below, if any. */
function commandsIn (page: string) {
  return Array.from(page.matchAll(/curl -s '?http:\/\/127\.0\.0\.1:8080([^\s']+)'? [^\n]*-d '(.*)'\n```(?:\n\n```json\n(.*)\n```)?/g),
    ([, path = '', body = '', output = '']) => ({ path, body, output }))
}

async function toolsToBeReady (url: string): Promise<void> {
  await waitFor('the tools to be prepared', async () => {
    const states = await Promise.all(TOOLS.map(async id => (await (await fetch(`${url}/api/tools/${id}`)).json() as { preparation: string }).preparation))
    return states.every(state => state === 'ready')
  }, 30_000)
}

async function post (url: string, path: string, body: string): Promise<string> {
  return await (await fetch(`${url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).text()
}
