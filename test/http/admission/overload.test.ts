import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type Dispatcher, Pool } from 'undici'
import { buildConsole } from '../../helpers/console.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'
import { type ServiceProcess, startProcess } from '../../helpers/service-process.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { waitFor } from '../../helpers/wait-for.ts'

const CONNECTIONS = 400

/** Milliseconds of work for a small body. */
const SLOW = { userPrompt: '{{#each variables.list}}{{#each ../variables.list}}{{this}}{{/each}}{{/each}}' }
const BODY = JSON.stringify({ variables: { list: Array.from({ length: 60 }, (_, index) => `item ${index}`) } })

interface Answer { readonly status: number, readonly code: string | undefined, readonly headers: Dispatcher.ResponseData['headers'], readonly text: string }

describe('a service to which more comes than it can answer', () => {
  it('refuses some with 503 OVERLOADED, answers others, and always says how it is, and shows its console', async t => {
    buildConsole()
    const { service, ask } = await startSlow(t)
    const script = /\/console\/assets\/main-\w+\.js/.exec(await (await fetch(`${service.url}/console/`)).text())?.[0] as string
    const answers: Answer[] = []
    const refusedPaths = new Set<string>()
    const state = { isOver: false }
    t.after(() => { state.isOver = true })
    const flood = Array.from({ length: CONNECTIONS }, async () => {
      while (!state.isOver) answers.push(await ask('/api/render/prompts/slow'))
    })
    await waitFor('refusals', async () => {
      for (const path of ['/healthz', '/readyz', '/metrics', '/console/', script]) if ((await fetch(`${service.url}${path}`)).status !== 200) refusedPaths.add(path)
      return answers.filter(({ code }) => code === 'OVERLOADED').length > 50 && answers.some(({ status }) => status === 200)
    }, 60_000)
    state.isOver = true
    await Promise.all(flood)

    const refused = answers.filter(({ code }) => code === 'OVERLOADED')
    assert.deepEqual([...new Set(refused.map(({ status, headers }) => `${status} ${String(headers['retry-after'])}`))], ['503 1'])
    assert.deepEqual(Object.keys(JSON.parse(refused[0]?.text ?? '') as object), ['statusCode', 'code', 'error', 'message', 'requestId'])
    assert.deepEqual([...new Set(answers.map(({ code }) => code))].filter(code => ![undefined, 'OVERLOADED', 'RENDER_TIMEOUT'].includes(code)), [])
    assert.deepEqual([...refusedPaths], [])

    const counted = /^prompt_shell_http_requests_refused_total (\d+)/m.exec(await (await fetch(`${service.url}/metrics`)).text())?.[1]
    assert.equal(Number(counted), refused.length)
    await waitFor('the log to tell of it', () => service.log.some(line => /"level":40.*"refused":\d+.*overloaded/.test(line)))
    await waitFor('it to answer as before', async () => (await ask('/api/render/prompts/slow')).status === 200)
  })

  it('refuses in OpenAI\'s shape below /v1, and before it looks at the token', async t => {
    const { ask } = await startSlow(t, { API_TOKENS: tokenEntry('ide', 'chat+render') })
    const refused = await firstRefusal(() => ask('/api/render/prompts/slow', bearer('ide')), () => ask('/v1/chat/completions'))
    assert.deepEqual(JSON.parse(refused.text), { error: { message: 'More requests come than can be answered; try again', type: 'server_error', param: null, code: 'OVERLOADED' } })
  })

  it('lets pages of allowed origins read a refusal, and others not', async t => {
    const { ask } = await startSlow(t, { CORS_ORIGINS: 'https://console.example', API_TOKENS: tokenEntry('ide', 'render') })
    const askFrom = (origin: string) => ask('/api/render/prompts/slow', { ...bearer('ide'), origin })
    const refused = await firstRefusal(() => askFrom('https://console.example'), () => askFrom('https://console.example'))
    assert.equal(refused.headers['access-control-allow-origin'], 'https://console.example')
    assert.match(String(refused.headers['access-control-expose-headers']), /retry-after/)
    const other = await firstRefusal(() => askFrom('https://console.example'), () => askFrom('https://other.example'))
    assert.equal(other.headers['access-control-allow-origin'], undefined)
  })
})

/** Asks more than can be answered, until one of what is tried beside it is refused. */
async function firstRefusal (flood: () => Promise<Answer>, attempt: () => Promise<Answer>): Promise<Answer> {
  const state = { isOver: false }
  const flooding = Array.from({ length: CONNECTIONS }, async () => {
    while (!state.isOver) await flood()
  })
  const attempts = Array.from({ length: 20 }, async () => {
    let answer: Answer | undefined
    while (!state.isOver && answer?.code !== 'OVERLOADED') answer = await attempt()
    state.isOver = true
    return answer
  })
  const answers = await Promise.all(attempts)
  await Promise.all(flooding)
  return answers.find(answer => answer?.code === 'OVERLOADED') as Answer
}

async function startSlow (t: TestContext, environment: Readonly<Record<string, string>> = {}): Promise<{ service: ServiceProcess, ask: (path: string, headers?: object) => Promise<Answer> }> {
  const folder = await createTemporaryFolder()
  await folder.write('templates/slow.json', JSON.stringify(SLOW))
  // With a longer time for a render, none is given up, and the wait never ends.
  const service = await startProcess(t, { STORE_DIR: folder.path, RENDER_TIMEOUT_MS: '500', ...environment })
  const pool = new Pool(service.url, { connections: 2 * CONNECTIONS })
  t.after(async () => {
    await pool.destroy()
    await folder.remove()
  })
  return {
    service,
    async ask (path, headers = {}) {
      const { statusCode, headers: answered, body } = await pool.request({ method: 'POST', path, headers: { 'content-type': 'application/json', ...headers }, body: BODY })
      const text = await body.text()
      const { code, error } = JSON.parse(text) as { code?: string, error?: { code?: string } | string }
      return { status: statusCode, code: code ?? (typeof error === 'object' ? error.code : undefined), headers: answered, text }
    }
  }
}
