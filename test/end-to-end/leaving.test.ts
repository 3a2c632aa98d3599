import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, fetch } from 'undici'
import { startRedisServer } from '../helpers/redis-server.ts'
import { type ServiceProcess, startProcess } from '../helpers/service-process.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { type Answer, sendJson, startUpstream } from '../helpers/upstream-server.ts'
import { waitFor } from '../helpers/wait-for.ts'

const RENDERS = 100
const TOOLS = 10
const STREAMS = 20

const chunk = (delta: object, finish: string | null) => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

describe('a service that is told to stop', () => {
  it(`cuts none of ${RENDERS} renders and ${STREAMS} streams that are in flight`, async t => {
    const tool = await startHolding(t, response => { sendJson(response, 200, 'from the tool') })
    const model = await startHolding(t, response => { response.end(`${chunk({ content: 'end' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`) }, response => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk({ role: 'assistant', content: 'begin ' }, null))
    })
    const service = await startFolder(t, prompts(tool.origin), { LLM_BASE_URL: `${model.origin}/v1`, LLM_MODEL: 'm', RENDER_TIMEOUT_MS: '60000' })
    const renders = Array.from({ length: RENDERS }, async (_, index) => await (await post(service.url, `/api/render/prompts/ask${index % TOOLS}`)).json())
    const streams = Array.from({ length: STREAMS }, async () => await (await post(service.url, '/api/chat/prompts/plain', { stream: true })).text())
    await waitFor('all of them to be in flight', () => tool.held() === RENDERS && model.held() === STREAMS)

    service.process.kill('SIGTERM')
    await waitFor('the port to be closed', async () => await post(service.url, '/api/render/prompts/plain').then(() => false, () => true))
    assert.equal(service.process.exitCode, null)
    tool.release()
    model.release()

    assert.deepEqual(new Set((await Promise.all(renders)).map(reply => (reply as { rendered_prompt: string }).rendered_prompt)), new Set(['Says from the tool']))
    for (const stream of await Promise.all(streams)) {
      assert.match(stream, /begin .*end.*data: \[DONE\]\n\n$/s)
      assert.doesNotMatch(stream, /"error"/)
    }
    assert.equal(await codeOf(service), 0)
  })

  it('cuts what takes longer than DRAIN_TIMEOUT_MS, says so, and ends with 1', async t => {
    const model = await startHolding(t, () => {}, response => { response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk({ content: 'begin' }, null)) })
    const service = await startFolder(t, prompts('http://127.0.0.1:1'), { LLM_BASE_URL: `${model.origin}/v1`, LLM_MODEL: 'm', DRAIN_TIMEOUT_MS: '300' })
    const stream = await post(service.url, '/api/chat/prompts/plain', { stream: true })
    service.process.kill('SIGTERM')
    await assert.rejects(stream.text())
    assert.equal(await codeOf(service), 1)
    assert.match(service.log.join('\n'), /took longer than DRAIN_TIMEOUT_MS and were cut/)
  })

  it('answers the fifty requests that are sent at that moment, though nobody has asked for its readiness', async t => {
    const service = await startFolder(t, { 'templates/plain': 'Hello' }, {})
    const { port } = new URL(service.url)
    assert.equal((await post(service.url, '/api/render/prompts/plain')).status, 200)
    service.process.kill('SIGTERM')
    const replies = await Promise.all(Array.from({ length: 50 }, async () => await rawGet(Number(port), '/api/prompts')))
    assert.deepEqual(new Set(replies), new Set(['HTTP/1.1 200 OK']))
    assert.equal(await codeOf(service), 0)
  })

  it('first says at /readyz that it leaves, while it answers everything and closes connections', async t => {
    const service = await startFolder(t, prompts('http://127.0.0.1:1'), { DRAIN_DELAY_MS: '3000' })
    assert.equal((await fetch(`${service.url}/readyz`)).status, 200)
    service.process.kill('SIGTERM')
    const readiness = await waitFor('/readyz to say so', async () => {
      const reply = await fetch(`${service.url}/readyz`)
      return reply.status === 503 && await reply.json() as { status: string }
    })
    assert.equal(readiness.status, 'leaving')
    const reply = await post(service.url, '/api/render/prompts/plain')
    assert.deepEqual([reply.status, reply.headers.get('connection')], [200, 'close'])
    assert.equal(await codeOf(service), 0)
  })
})

describe('two replicas on one Redis', () => {
  it('drop no request while they are restarted one after the other under load', async t => {
    const redis = await startRedisServer()
    t.after(() => redis.stop())
    await redis.client.set('shenma:templates:plain', 'Hello {{name}}')
    const start = () => startProcess(t, { REDIS_URL: redis.url, DRAIN_DELAY_MS: '3000' })
    const replicas = new Balancer(await Promise.all([start(), start()]))
    t.after(() => replicas.close())

    const load = replicas.load(20)
    for (const old of [...replicas.services]) {
      await waitFor('answers before the restart', replicas.answers(100))
      const replacement = await start()
      replicas.add(replacement)
      old.process.kill('SIGTERM')
      assert.equal(await codeOf(old), 0)
      replicas.remove(old)
    }
    await waitFor('answers after the restarts', replicas.answers(100))
    replicas.stop()
    await load
    assert.deepEqual(replicas.failures, [])
  })
})

/** A balancer as simple as they come: asks for readiness again and again, and sends to those that are ready, in turn. */
class Balancer {
  readonly services: ServiceProcess[]
  readonly failures: string[] = []
  readonly #agent = new Agent({ connections: 20 })
  readonly #ready = new Set<ServiceProcess>()
  #answered = 0
  #isStopped = false

  constructor (services: readonly ServiceProcess[]) {
    this.services = [...services]
  }

  add (service: ServiceProcess): void {
    this.services.push(service)
  }

  remove (service: ServiceProcess): void {
    this.services.splice(this.services.indexOf(service), 1)
    this.#ready.delete(service)
  }

  /** Whether so many more have been answered. */
  answers (count: number): () => boolean {
    const wanted = this.#answered + count
    return () => this.#answered >= wanted
  }

  async load (clients: number): Promise<void> {
    await Promise.all([this.#watch(), ...Array.from({ length: clients }, () => this.#send())])
  }

  stop (): void {
    this.#isStopped = true
  }

  async close (): Promise<void> {
    this.stop()
    await this.#agent.destroy()
  }

  async #watch (): Promise<void> {
    while (!this.#isStopped) {
      await Promise.all(this.services.map(async service => {
        const isReady = await fetch(`${service.url}/readyz`).then(({ ok }) => ok, () => false)
        if (isReady && this.services.includes(service)) this.#ready.add(service)
        else this.#ready.delete(service)
      }))
      await sleep(20)
    }
  }

  async #send (): Promise<void> {
    for (let turn = 0; !this.#isStopped; turn++) {
      const service = [...this.#ready][turn % Math.max(1, this.#ready.size)]
      if (service === undefined) {
        await sleep(5)
        continue
      }
      try {
        const reply = await fetch(`${service.url}/api/render/prompts/plain`, { method: 'POST', dispatcher: this.#agent, headers: { 'content-type': 'application/json' }, body: '{"variables":{"name":"Ada"}}' })
        const text = await reply.text()
        // A machine that is slow for a moment makes a replica refuse what it cannot answer: that has nothing to do with its restart.
        if (text.includes('"OVERLOADED"')) continue
        if (reply.status === 200) this.#answered++
        else this.failures.push(`${reply.status} ${text}`)
      } catch (error) {
        this.failures.push(String((error as Error).cause ?? error))
      }
    }
  }
}

/** Prompts that call a tool each, so that no tool has more calls than it takes at a time, and one without. */
function prompts (toolOrigin: string): Readonly<Record<string, unknown>> {
  const names = Array.from({ length: TOOLS }, (_, index) => index)
  return {
    'templates/plain': 'Hello',
    ...Object.fromEntries(names.map(index => [`templates/ask${index}`, `Says {{hold_tool${index}}}`])),
    ...Object.fromEntries(names.map(index => [`tools/hold/tool${index}`, { url: `${toolOrigin}/tool`, timeout: 60_000 }]))
  }
}

async function startFolder (t: TestContext, entries: Readonly<Record<string, unknown>>, environment: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const folder = await createTemporaryFolder()
  t.after(() => folder.remove())
  for (const [path, value] of Object.entries(entries)) await folder.write(`${path}.json`, JSON.stringify(value))
  return await startProcess(t, { STORE_DIR: folder.path, ...environment })
}

/** A server that begins every answer and holds it until it is told to go on. */
async function startHolding (t: TestContext, finish: (response: ServerResponse) => void, begin: (response: ServerResponse) => void = () => {}) {
  const held: ServerResponse[] = []
  const answer: Answer = (_hit, response) => {
    begin(response)
    held.push(response)
  }
  const server = await startUpstream(answer)
  t.after(() => server.close())
  return {
    origin: new URL(server.baseUrl).origin,
    held: () => held.length,
    release: () => { for (const response of held) finish(response) }
  }
}

async function post (url: string, path: string, body: object = {}) {
  return await fetch(`${url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
}

/** Sends a request over a connection of its own. @returns the first line of the reply, or the code of the error */
async function rawGet (port: number, path: string): Promise<string> {
  return await new Promise(resolve => {
    let reply = ''
    const socket = connect(port, '127.0.0.1', () => { socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`) })
    socket.on('data', (data: Buffer) => { reply += data.toString() })
    socket.on('error', (error: NodeJS.ErrnoException) => { resolve(String(error.code)) })
    socket.on('close', () => { resolve(reply.split('\r\n', 1)[0] ?? '') })
  })
}

async function codeOf ({ process }: ServiceProcess): Promise<number | null> {
  if (process.exitCode === null && process.signalCode === null) await once(process, 'exit')
  return process.exitCode
}
