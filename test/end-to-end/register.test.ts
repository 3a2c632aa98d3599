import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it, type TestContext } from 'node:test'
import { createDirectoryStore } from '../../src/store/directory-store.ts'
import { createRedisStore } from '../../src/store/redis/redis-store.ts'
import { type Store } from '../../src/store/store.ts'
import { listAll } from '../helpers/list-all.ts'
import { startRedisCluster } from '../helpers/redis-cluster.ts'
import { startRedisSentinel } from '../helpers/redis-sentinel.ts'
import { startRedisServer } from '../helpers/redis-server.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { storeKeys } from '../helpers/store-keys.ts'

const KEY_PREFIX = 'shenma:'

/** What the folder store reads in a way of its own, or not at all. */
const ODDITIES = {
  'environs/numbers.yaml': 'id: 12345678901234567890\nbase: &base { a: 1 }\nmerged: { <<: *base, b: 2 }\n',
  'environs/twice.json': '{ "from": "json" }',
  'environs/twice.yaml': 'from: yaml\n',
  'environs/.secret.json': '"hidden"',
  'environs/.git/head.json': '"hidden"',
  'environs/node_modules/package/package.json': '{}',
  'environs/of:colons.json': '1',
  'environs/text.txt': 'not read',
  'environs/deep/er/broken.json': '{ "kept": as it is',
  'templates/greet.yml': 'userPrompt: Hello {{ name }}\n',
  'prompts/misnamed.json': '{}'
}

const SERVERS = [['one Redis', startRedisServer], ['a Redis behind Sentinels', startRedisSentinel], ['a cluster', startRedisCluster]] as const

describe('node scripts/register.js', () => {
  for (const [title, start] of SERVERS) {
    it(`has ${title} serve what the folder would`, async t => {
      const folder = await folderWith(t, ODDITIES)
      const redis = await start()
      t.after(() => redis.stop())
      // An empty variable counts as not given.
      const { code, stdout, stderr } = await register(folder, { REDIS_URL: redis.url, KEY_PREFIX: '' })
      assert.deepEqual([code, stdout], [0, '4 entries registered\n'])
      assert.match(stderr, /^only the folders extensions, templates, environs, tools, agents, skills, plans, releases are read, and not prompts$/m)
      assert.match(stderr, /^shenma:environs:twice has two files, .*: the \.json file is used$/m)

      const served = await contentOf(t, createRedisStore({ keys: storeKeys(), url: redis.url }))
      assert.deepEqual(served, await contentOf(t, await createDirectoryStore({ directory: folder, keys: storeKeys(KEY_PREFIX) })))
      assert.deepEqual(served.get('shenma:environs:numbers'), { kind: 'text', text: '{"id":12345678901234567890,"base":{"a":1},"merged":{"a":1,"b":2}}' })
    })
  }

  it('tells of files that cannot be used, registers the others, and ends with 1', async t => {
    const folder = await folderWith(t, { 'environs/bad.yaml': 'a: [', 'environs/good.yaml': 'a: 1' })
    const redis = await startRedisServer()
    t.after(() => redis.stop())
    const { code, stdout, stderr } = await register(folder, { REDIS_URL: redis.url })
    assert.deepEqual([code, stdout], [1, '1 entries registered\n'])
    assert.match(stderr, /^shenma:environs:bad is not registered: is not usable YAML: .*\n$/)
    assert.deepEqual([...(await contentOf(t, createRedisStore({ keys: storeKeys(), url: redis.url }))).keys()], ['shenma:environs:good'])
  })

  const mistakes = [
    ['a folder that is not there', { REDIS_URL: 'redis://127.0.0.1:1' }, 1, /^the store's folder .*nowhere does not exist\n$/],
    ['an address that is none', { REDIS_URL: 'http://user:hunter2@127.0.0.1' }, 1, /^REDIS_URL: expected redis:\/\/host:port, (?!.*hunter2).*\n$/],
    ['an empty address', { REDIS_URL: '' }, 2, /^usage: /]
  ] as const
  for (const [mistake, environment, status, message] of mistakes) {
    it(`refuses ${mistake}, in one line`, async () => {
      const { code, stdout, stderr } = await register('nowhere', environment)
      assert.deepEqual([code, stdout], [status, ''])
      assert.match(stderr, message)
    })
  }

  it('tells of a Redis that does not answer, in one line', async t => {
    const folder = await folderWith(t, { 'environs/good.yaml': 'a: 1' })
    const redis = await startRedisServer()
    await redis.stop()
    const { code, stdout, stderr } = await register(folder, { REDIS_URL: redis.url })
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^Redis at 127\.0\.0\.1:\d+ .*\n$/)
  })
})

async function folderWith (t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  for (const [path, text] of Object.entries(files)) await folder.write(path, text)
  return folder.path
}

function register (folder: string, environment: Readonly<Record<string, string>>): Promise<{ code: number, stdout: string, stderr: string }> {
  return new Promise(resolve => {
    execFile(process.execPath, ['scripts/register.js', folder], { env: { PATH: process.env['PATH'], ...environment } }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code as number, stdout, stderr })
    })
  })
}

async function contentOf (t: TestContext, store: Store) {
  t.after(() => store.close())
  const keys = [...await listAll(store, KEY_PREFIX)].sort()
  const values = await store.read(keys)
  return new Map(keys.map((key, index) => [key, values[index]]))
}
