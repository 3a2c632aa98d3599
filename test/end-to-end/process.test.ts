import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { failToStart, spawnService, startProcess } from '../helpers/service-process.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

describe('node dist/main.js', () => {
  it('serves a folder', async t => {
    const { url } = await startProcess(t, { STORE_DIR: 'examples' })
    const reply = await fetch(`${url}/api/prompts`)
    assert.deepEqual(await reply.json(), ['desk.answer', 'desk.tone', 'evaluator.evaluate_quality', 'evaluator.judge', 'greet', 'movies.critic', 'photos.describe', 'review.diff', 'review.file', 'review.house_rules', 'symbols.explain'])
  })

  const refusals = [
    ['without a store', {}, /REDIS_URL or STORE_DIR: expected one of them, got neither/],
    ['with two stores', { REDIS_URL: 'redis://127.0.0.1', STORE_DIR: 'examples' }, /REDIS_URL and STORE_DIR: expected one of them, got both/],
    ['with a port that is none', { STORE_DIR: 'examples', PORT: 'http' }, /PORT: expected an integer from 0 to 65535, got "http"/],
    ['with an unknown log level', { STORE_DIR: 'examples', LOG_LEVEL: 'loud' }, /LOG_LEVEL: expected one of trace, .*, got "loud"/],
    ['with a model address that is none', { STORE_DIR: 'examples', LLM_BASE_URL: 'api.example.com' }, /LLM_BASE_URL: expected an http\(s\) address/],
    ['with a folder that is not there', { STORE_DIR: 'no-such-folder' }, /no-such-folder/],
    ['on an address of another machine', { STORE_DIR: 'examples', HOST: '192.0.2.1', AUTH: 'off' }, /HOST: expected an address of this machine, got "192\.0\.2\.1"/],
    ['with a secret that is not set', { STORE_DIR: 'examples', TOOL_SECRETS: 'KEY=example.com' }, /TOOL_SECRET_KEY is not set/]
  ] as const
  for (const [how, environment, message] of refusals) {
    it(`refuses to start ${how}, in plain words`, async () => {
      const { code, stderr } = await failToStart(environment)
      assert.equal(code, 1)
      assert.match(stderr, message)
      assert.doesNotMatch(stderr, /\n\s+at /)
    })
  }

  it('refuses to start on a port that is taken, in one line', async t => {
    const { url } = await startProcess(t, { STORE_DIR: 'examples' })
    const { port } = new URL(url)
    const { code, stderr } = await failToStart({ STORE_DIR: 'examples', PORT: port })
    assert.equal(code, 1)
    assert.equal(stderr, `ai-prompt-shell does not start\nPORT: expected a free port, got ${port}, where another process listens at 127.0.0.1 already (EADDRINUSE)\n`)
  })

  it('never shows a password of REDIS_URL', async () => {
    const { stderr } = await failToStart({ REDIS_URL: 'http://user:hunter2@127.0.0.1' })
    assert.match(stderr, /REDIS_URL: expected/)
    assert.doesNotMatch(stderr, /hunter2/)
  })

  it('goes on after heap snapshots that a signal asks for', async t => {
    const { path, remove } = await createTemporaryFolder()
    t.after(remove)
    const service = await startProcess(t, { STORE_DIR: 'examples', NODE_OPTIONS: `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${path}` })
    for (const count of [1, 2]) {
      service.process.kill('SIGUSR2')
      await waitFor('the snapshot', () => readdirSync(path).length === count)
      assert.equal((await fetch(`${service.url}/healthz`)).status, 200)
    }
    assert.equal(service.process.exitCode, null)
  })

  it('imports late what has the same name in every build', () => {
    const late = (file: string) => Array.from(readFileSync(file, 'utf8').matchAll(/import\("(\..+?)"\)/g), ([, name]) => name)
    assert.deepEqual(late('dist/store/directory-store.js'), ['../parts/read-dotprompt.js'])
    const parts = readdirSync('dist/parts').filter(name => !name.startsWith('aps-')).flatMap(name => late(join('dist/parts', name)))
    assert.deepEqual(parts.filter(name => name?.includes('-session-store')), ['./memory-session-store.js', './directory-session-store.js', './redis-session-store.js'])
  })

  it('ends by itself on SIGTERM', async t => {
    const service = await startProcess(t, { STORE_DIR: 'examples' })
    service.process.kill('SIGTERM')
    const [code] = await once(service.process, 'exit') as [number | null]
    assert.equal(code, 0)
  })

  it('ends on SIGTERM while it starts, as the first process of a container must by itself', async t => {
    const redis = createServer().listen(0, '127.0.0.1')
    t.after(() => redis.close())
    await once(redis, 'listening')
    const service = spawnService({ REDIS_URL: `redis://127.0.0.1:${(redis.address() as AddressInfo).port}` })
    const [connection] = await once(redis, 'connection') as [Socket]
    connection.on('error', () => {})
    service.kill('SIGTERM')
    assert.deepEqual(await once(service, 'exit'), [0, null])
  })

  it('starts on an empty folder', async t => {
    const folder = await createTemporaryFolder()
    t.after(() => folder.remove())
    const { url } = await startProcess(t, { STORE_DIR: folder.path })
    assert.deepEqual(await (await fetch(`${url}/api/prompts`)).json(), [])
  })
})
