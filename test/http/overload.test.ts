import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Pool } from 'undici'
import { bearer, tokenEntry } from '../helpers/tokens.ts'
import { type ServiceProcess, startProcess } from '../helpers/service-process.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

const CONNECTIONS = 400

/** Milliseconds of work for a small body. */
const SLOW = { userPrompt: '{{#each variables.list}}{{#each ../variables.list}}{{this}}{{/each}}{{/each}}' }
const BODY = JSON.stringify({ variables: { list: Array.from({ length: 60 }, (_, index) => `item ${index}`) } })

interface Answer { readonly status: number, readonly code: string | undefined, readonly retryAfter: string | undefined, readonly text: string }

describe('a service to which more comes than it can answer', () => {
  it('refuses some with 503 OVERLOADED, answers others, and always says how it is', async t => {
    const { service, ask } = await startSlow(t)
    const answers: Answer[] = []
    const states = new Set<number>()
    const state = { isOver: false }
    const flood = Array.from({ length: CONNECTIONS }, async () => {
      while (!state.isOver) answers.push(await ask('/api/render/prompts/slow'))
    })
    await waitFor('refusals', async () => {
      for (const path of ['/healthz', '/readyz', '/metrics']) states.add((await fetch(`${service.url}${path}`)).status)
      return answers.filter(({ code }) => code === 'OVERLOADED').length > 50 && answers.some(({ status }) => status === 200)
    }, 60_000)
    state.isOver = true
    await Promise.all(flood)

    const refused = answers.filter(({ code }) => code === 'OVERLOADED')
    assert.deepEqual([...new Set(refused.map(({ status, retryAfter }) => `${status} ${retryAfter}`))], ['503 1'])
    assert.deepEqual(Object.keys(JSON.parse(refused[0]?.text ?? '') as object), ['statusCode', 'code', 'error', 'message', 'requestId'])
    assert.deepEqual([...new Set(answers.map(({ code }) => code))].filter(code => ![undefined, 'OVERLOADED', 'RENDER_TIMEOUT'].includes(code)), [])
    assert.deepEqual([...states], [200])

    const counted = /^prompt_shell_http_requests_refused_total (\d+)/m.exec(await (await fetch(`${service.url}/metrics`)).text())?.[1]
    assert.equal(Number(counted), refused.length)
    await waitFor('the log to tell of it', () => service.log.some(line => /"level":40.*"refused":\d+.*overloaded/.test(line)))
    await waitFor('it to answer as before', async () => (await ask('/api/render/prompts/slow')).status === 200)
  })

  it('refuses in OpenAI\'s shape below /v1, and before it looks at the token', async t => {
    const { ask } = await startSlow(t, { API_TOKENS: tokenEntry('ide', 'chat+render') })
    const state = { isOver: false }
    const flood = Array.from({ length: CONNECTIONS }, async () => {
      while (!state.isOver) await ask('/api/render/prompts/slow', bearer('ide'))
    })
    const tries = Array.from({ length: 20 }, async () => {
      let answer: Answer | undefined
      while (!state.isOver && answer?.code !== 'OVERLOADED') answer = await ask('/v1/chat/completions')
      state.isOver = true
      return answer
    })
    const answers = await Promise.all(tries)
    await Promise.all(flood)
    const refused = answers.find(answer => answer?.code === 'OVERLOADED')
    assert.deepEqual(JSON.parse(refused?.text ?? '{}'), { error: { message: 'More requests come than can be answered; try again', type: 'server_error', param: null, code: 'OVERLOADED' } })
  })
})

async function startSlow (t: TestContext, environment: Readonly<Record<string, string>> = {}): Promise<{ service: ServiceProcess, ask: (path: string, headers?: object) => Promise<Answer> }> {
  const folder = await createTemporaryFolder()
  await folder.write('templates/slow.json', JSON.stringify(SLOW))
  const service = await startProcess(t, { STORE_DIR: folder.path, ...environment })
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
      return { status: statusCode, code: code ?? (typeof error === 'object' ? error.code : undefined), retryAfter: answered['retry-after'] as string | undefined, text }
    }
  }
}
