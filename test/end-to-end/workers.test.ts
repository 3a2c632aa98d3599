import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { request } from 'undici'
import { parseMetrics, sumOf } from '../helpers/metrics.ts'
import { startRedisServer } from '../helpers/redis-server.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { failToStart, type ServiceProcess, startProcess } from '../helpers/service-process.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

const HTTP = 'prompt_shell_http_request_duration_seconds_count'

async function startWorkers (t: TestContext, environment: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const service = await startProcess(t, { WORKERS: '2', ...environment })
  // The workers write to the log on their own, so that their lines may come after the primary process's.
  await waitFor('all workers to listen', () => linesOf(service, 'all workers listen').length > 0 && listeners(service).length === 2)
  return service
}

function linesOf ({ log }: ServiceProcess, message: string): Array<{ readonly pid: number, readonly msg: string }> {
  return log.map(line => JSON.parse(line) as { pid: number, msg: string }).filter(({ msg }) => msg.startsWith(message))
}

const listeners = (service: ServiceProcess) => linesOf(service, 'Server listening').map(({ pid }) => pid)

/** A request over a connection of its own: connections are handed to the workers in turn. */
async function get (url: string): Promise<string> {
  const { statusCode, body } = await request(url, { reset: true, headersTimeout: 20_000 })
  assert.equal(statusCode, 200)
  return body.text()
}

const samplesOf = async ({ url }: ServiceProcess) => parseMetrics(await get(`${url}/metrics`))

describe('WORKERS=2', () => {
  it('answers from both processes', async t => {
    const service = await startWorkers(t, { STORE_DIR: 'examples' })
    await waitFor('both to have answered', async () => {
      await get(`${service.url}/api/prompts`)
      return new Set(linesOf(service, 'request').map(({ pid }) => pid)).size === 2
    })
    assert.deepEqual([...new Set(linesOf(service, 'request').map(({ pid }) => pid))].sort(), listeners(service).sort())
  })

  it('tells the metrics of both, counters summed and what both hold told once', async t => {
    const service = await startWorkers(t, { STORE_DIR: 'examples' })
    let listed = ''
    for (let count = 0; count < 6; count++) listed = await get(`${service.url}/api/prompts`)
    const samples = await samplesOf(service)
    assert.equal(sumOf(samples, HTTP, { route: '/api/prompts' }), 6)
    assert.equal(sumOf(samples, 'prompt_shell_registry_entries', { kind: 'prompts' }), (JSON.parse(listed) as unknown[]).length)
    assert.equal(sumOf(samples, 'prompt_shell_build_info'), 1)
  })

  it('keeps what a worker has counted that has died', async t => {
    const service = await startWorkers(t, { STORE_DIR: 'examples' })
    for (let count = 0; count < 6; count++) await get(`${service.url}/api/prompts`)
    assert.equal(sumOf(await samplesOf(service), HTTP, { route: '/api/prompts' }), 6)
    for (const pid of listeners(service)) {
      const before = listeners(service).length
      process.kill(pid, 'SIGKILL')
      await waitFor('another one to listen', () => listeners(service).length > before)
      assert.equal(sumOf(await samplesOf(service), HTTP, { route: '/api/prompts' }), 6)
    }
    const listed = JSON.parse(await get(`${service.url}/api/prompts`)) as unknown[]
    const samples = await samplesOf(service)
    assert.equal(sumOf(samples, 'prompt_shell_registry_entries', { kind: 'prompts' }), listed.length)
    assert.equal(sumOf(samples, 'prompt_shell_http_requests_in_flight'), 1)
  })

  it('lets one of several create a file, whichever process each asks', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const { url } = await startWorkers(t, { STORE_DIR: folder.path })
    const create = async (id: number, body: string): Promise<number> => {
      const reply = await request(`${url}/api/environs/new.n${id}`, { method: 'PUT', body, headers: { 'content-type': 'application/json', 'if-none-match': '*' }, reset: true })
      await reply.body.dump()
      return reply.statusCode
    }
    for (let id = 0; id < 20; id++) {
      const statuses = await Promise.all(['1', '2', '3', '4'].map(body => create(id, body)))
      assert.deepEqual(statuses.sort(), [201, 412, 412, 412])
    }
  })

  it('share budgets and counts of calls without Redis', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('operator.yaml', 'budgets: { team: { day: { tokens: 1 } } }')
    const service = await startWorkers(t, { STORE_DIR: folder.path, OPERATOR_FILE: `${folder.path}/operator.yaml`, LLM_BASE_URL: 'builtin:echo' })
    const ask = async (): Promise<number> => {
      const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }] })
      const reply = await request(`${service.url}/v1/chat/completions`, { method: 'POST', body, headers: { 'content-type': 'application/json' }, reset: true })
      await reply.body.dump()
      return reply.statusCode
    }
    const statuses: number[] = []
    for (let call = 0; call < 6; call++) statuses.push(await ask())
    assert.deepEqual(statuses, [200, 429, 429, 429, 429, 429])
    const told = async () => [...new Set(await Promise.all(Array.from({ length: 6 }, async () => {
      const [usage, { budgets: [team] }] = await Promise.all(['', '/budgets'].map(async path => JSON.parse(await get(`${service.url}/api/usage${path}`)))) as [{ rows: unknown, since: string }, { budgets: unknown[] }]
      return JSON.stringify([usage.rows, usage.since, team])
    })))]
    await waitFor('both to tell the same', async () => {
      const [one = '', ...others] = await told()
      return others.length === 0 && one.includes('"calls":1,')
    })
  })

  it('replaces a worker that dies', async t => {
    const service = await startWorkers(t, { STORE_DIR: 'examples' })
    const [victim] = listeners(service)
    process.kill(victim as number, 'SIGKILL')
    await waitFor('another one to listen', () => listeners(service).length === 3)
    await get(`${service.url}/api/prompts`)
    assert.equal(linesOf(service, 'a worker died and is replaced').length, 1)
  })

  it('serves in both what one has published or withdrawn, the last of its kind too, though changes are polled', async t => {
    const redis = await startRedisServer()
    t.after(() => redis.stop())
    await redis.client.call('ACL', 'SETUSER', 'polling', 'on', '>secret', '~*', '&*', '+@all', '-client|tracking')
    const { url } = await startWorkers(t, { REDIS_URL: redis.url.replace('redis://', 'redis://polling:secret@'), POLL_INTERVAL_MS: '3600000' })
    const ask = async (method: 'GET' | 'PUT' | 'DELETE'): Promise<number> => {
      const { statusCode, body } = await request(`${url}/api/prompts/ask`, { method, reset: true, ...(method === 'PUT' ? { body: 'text', headers: { 'content-type': 'text/plain' } } : {}) })
      await body.dump()
      return statusCode
    }
    for (const [method, status, then] of [['PUT', 201, 200], ['DELETE', 204, 404]] as const) {
      assert.equal(await ask(method), status)
      await waitFor('both to answer by it', async () => {
        for (let count = 0; count < 4; count++) if (await ask('GET') !== then) return false
        return true
      })
    }
  })

  it('reloads in both when one is asked', async t => {
    const redis = await startRedisServer()
    t.after(() => redis.stop())
    await redis.client.set('shenma:templates:greet', 'Hello')
    const service = await startWorkers(t, { REDIS_URL: redis.url, POLL_INTERVAL_MS: '100' })
    await redis.client.flushall()
    const held = async () => sumOf(await samplesOf(service), 'prompt_shell_registry_held_kinds')
    await waitFor('the kind to be held', async () => await held() > 0)
    await fetch(`${service.url}/api/status/reload`, { method: 'POST' })
    // The figure is the largest of both.
    await waitFor('neither to hold it', async () => await held() === 0)
  })

  for (const [who, signalled] of [['the primary process', 'primary'], ['every process of the group', 'group']] as const) {
    it(`answers what is in flight when ${who} is told to end`, async t => {
      const held: Array<() => void> = []
      const tools = await startRestfulToolServer(t, { '/slow': response => { held.push(() => response.end('done')) } })
      const folder = await createTemporaryFolder()
      t.after(() => folder.remove())
      await folder.write('tools/a/slow.json', JSON.stringify({ type: 'restful', url: `${tools.origin}/slow` }))
      await folder.write('templates/slow.yaml', 'userPrompt: "{{a_slow}}"')
      const service = await startWorkers(t, { STORE_DIR: folder.path, RENDER_TIMEOUT_MS: '8000' })
      const asked = Array.from({ length: 6 }, () => request(`${service.url}/api/render/prompts/slow`, { method: 'POST', reset: true }))
      await waitFor('all calls to be in flight', () => held.length === 6)
      const ended = once(service.process, 'exit')
      service.process.kill('SIGTERM')
      if (signalled === 'group') for (const pid of listeners(service)) process.kill(pid, 'SIGTERM')
      for (const answer of held) answer()
      const answers = await Promise.all(asked)
      assert.deepEqual(answers.map(({ statusCode }) => statusCode), Array.from({ length: 6 }, () => 200))
      assert.deepEqual(await ended, [0, null])
      for (const pid of listeners(service)) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
    })
  }

  it('keeps both answering until a balancer knows that they leave, though it has asked one of them only', async t => {
    const service = await startWorkers(t, { STORE_DIR: 'examples', DRAIN_DELAY_MS: '3000' })
    await get(`${service.url}/readyz`)
    // Each asks the other for its figures, by way of the primary process: what was said before has arrived.
    for (let count = 0; count < 2; count++) await samplesOf(service)
    const ended = once(service.process, 'exit')
    service.process.kill('SIGTERM')
    await waitFor('/readyz to say so', async () => (await request(`${service.url}/readyz`, { reset: true })).statusCode === 503)
    const before = linesOf(service, 'request').length
    for (let count = 0; count < 6; count++) await get(`${service.url}/api/prompts`)
    await waitFor('the requests to be logged', () => linesOf(service, 'request').length === before + 6)
    const answered = new Set(linesOf(service, 'request').slice(before).map(({ pid }) => pid))
    assert.deepEqual([...answered].sort(), listeners(service).sort())
    assert.deepEqual(await ended, [0, null])
  })

  it('ends the workers when the primary process is killed', async t => {
    const service = await startWorkers(t, { STORE_DIR: 'examples' })
    service.process.kill('SIGKILL')
    await waitFor('both workers to be gone', () => listeners(service).every(pid => !isAlive(pid)))
  })

  it('does not start when its workers cannot, in plain words', async t => {
    const { url } = await startProcess(t, { STORE_DIR: 'examples' })
    const { code, stderr } = await failToStart({ STORE_DIR: 'examples', WORKERS: '2', PORT: new URL(url).port })
    assert.equal(code, 1)
    assert.match(stderr, /PORT: expected a free port, got \d+, where another process listens at 127\.0\.0\.1 already/)
    assert.doesNotMatch(stderr, /\n\s+at /)
  })
})

function isAlive (pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
