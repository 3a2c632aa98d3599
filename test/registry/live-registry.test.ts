import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Environs } from '../../src/registry/kinds/environ-kind.ts'
import { Registry, type RegistryOptions } from '../../src/registry/registry.ts'
import { operatorFrom } from '../../src/service/from-config.ts'
import { loadConfig } from '../../src/config/config.ts'
import { createRedisStore } from '../../src/store/redis/redis-store.ts'
import { type Store } from '../../src/store/store.ts'
import { handlebarsLanguage } from '../../src/template/handlebars/handlebars-language.ts'
import { createToolCaller } from '../../src/tool/tool-caller.ts'
import { createToolReader } from '../../src/tool/tool-reader.ts'
import { TOOL_TYPES } from '../../src/tool/tool-types.ts'
import { heapInUse } from '../helpers/garbage.ts'
import { recordedLog, registered } from '../helpers/registered.ts'
import { startRedisServer, type RedisServer } from '../helpers/redis-server.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { storeKeys } from '../helpers/store-keys.ts'
import { KINDS } from '../../src/registry/kind-table.ts'
import { changesBetween } from '../../src/registry/offered.ts'
import { createSlices } from '../../src/runtime/event-loop.ts'

interface Live {
  readonly redis: RedisServer
  readonly store: Store
  readonly registry: Registry
  /** Keys of each read, and how many scans there were. */
  readonly asked: { reads: string[][], scans: number }
}

/** A registry over a real Redis that pushes its changes. */
async function live (t: TestContext, entries: Readonly<Record<string, string>>, options: Partial<RegistryOptions> = {}): Promise<Live> {
  const redis = await startRedisServer()
  t.after(redis.stop)
  for (const [key, value] of Object.entries(entries)) await redis.client.set(`shenma:${key}`, value)
  const store = createRedisStore({ keys: storeKeys(), url: redis.url })
  const asked: Live['asked'] = { reads: [], scans: 0 }
  const { read, scan } = store
  store.read = keys => {
    asked.reads.push([...keys])
    return read(keys)
  }
  store.scan = prefix => {
    asked.scans++
    return scan(prefix)
  }
  const environs = new Environs({ store, prefix: 'shenma:environs:' })
  const operator = operatorFrom(loadConfig({ STORE_DIR: 'unused' }), environs, {})
  const log = recordedLog()
  const tools = createToolCaller({ types: TOOL_TYPES, operator, log })
  const registry = new Registry({ kinds: KINDS, store, environs, toolReader: createToolReader(TOOL_TYPES, operator), log, registerTools: tools.register, keyPrefix: 'shenma:', languages: [handlebarsLanguage], pollInterval: 3_600_000, emptyHold: 600_000, ...options })
  await waitFor('changes to be pushed', () => store.status().changes === 'pushed')
  await registry.start()
  t.after(async () => {
    await registry.stop()
    await tools.close()
    await store.close()
  })
  return { redis, store, registry, asked }
}

const textOf = (registry: Registry, id: string) => registry.generation.prompts.get(id)?.entry.definition.texts[0]?.text

describe('Registry: pushed changes', () => {
  it('reads only what has changed, and lists nothing', async t => {
    const { redis, registry, asked } = await live(t, { 'templates:a': 'one', 'templates:b': 'one' })
    await waitFor('quiet', () => registry.status().loaded)
    asked.reads.length = 0
    asked.scans = 0
    await redis.client.set('shenma:templates:a', 'two')
    await waitFor('the change', () => textOf(registry, 'a') === 'two')
    assert.deepEqual(asked, { reads: [['shenma:templates:a']], scans: 0 })
  })

  it('keeps what a change does not concern as it is, and links anew what includes it', async t => {
    const { redis, registry } = await live(t, { 'templates:outer': 'o {{> middle}}', 'templates:middle': '{{> inner}}', 'templates:inner': 'i', 'templates:other': 'x' })
    const before = registry.generation
    await redis.client.set('shenma:templates:inner', 'j')
    await waitFor('the change', () => textOf(registry, 'inner') === 'j')
    const after = registry.generation
    const changes = await changesBetween(before, after, KINDS, createSlices())
    assert.deepEqual(changes.map(({ id }) => id).sort(), ['inner', 'middle', 'outer'])
    assert.notEqual(before.prompts.get('outer')?.revision, after.prompts.get('outer')?.revision)
  })

  it('drops what is deleted or expires, the last of its kind too', async t => {
    const { redis, registry } = await live(t, { 'templates:a': 'one', 'environs:m:x': '1' })
    await redis.client.del('shenma:templates:a')
    await redis.client.pexpire('shenma:environs:m:x', 10)
    await waitFor('both to be gone', () => registry.generation.prompts.size === 0 && registry.environs.index.size === 0)
    await registry.refresh()
    assert.deepEqual(registry.status().held, [])
  })

  it('holds what was there before a flush', async t => {
    const { redis, registry } = await live(t, { 'templates:a': 'one', 'environs:m:x': '1' })
    await redis.client.flushall()
    await waitFor('the hold', () => registry.status().held.length === 2)
    assert.equal(textOf(registry, 'a'), 'one')
    assert.equal(registry.environs.has('m.x'), true)
  })

  it('goes on holding the others when something is written after a flush, whether it was there before or not', async t => {
    const { redis, registry } = await live(t, { 'templates:a': 'one', 'templates:b': 'one', 'environs:m:x': '1', 'environs:m:y': '1' })
    await redis.client.multi().flushall().set('shenma:templates:a', 'two').set('shenma:environs:m:z', '1').exec()
    await waitFor('the hold', () => registry.status().held.length === 2)
    await redis.client.set('shenma:environs:m:x', '2')
    await waitFor('the new', () => textOf(registry, 'a') === 'two' && registry.environs.has('m.z'))
    await registry.refresh()
    assert.deepEqual([textOf(registry, 'b'), registry.environs.has('m.y')], ['one', true])
    await redis.client.set('shenma:templates:b', 'three')
    await waitFor('all to be back', () => textOf(registry, 'b') === 'three')
    await registry.refresh()
    assert.deepEqual(registry.status().held, ['environs'])
  })

  it('keeps the last good version of an entry that changes its type', async t => {
    const { redis, registry } = await live(t, { 'templates:a': 'one' })
    await redis.client.multi().del('shenma:templates:a').lpush('shenma:templates:a', 'x').exec()
    await waitFor('the problem', () => registry.problems().length === 1)
    assert.equal(textOf(registry, 'a'), 'one')
  })

  it('have been served when a key was followed, also if word of them came while it was being read', async t => {
    const { redis, store, registry } = await live(t, { 'templates:a': 'one' })
    let told = 0
    t.after(await store.watch(() => { told++ }))
    const { read } = store
    store.read = async keys => {
      store.read = read
      const values = await read(keys)
      await redis.client.set('shenma:templates:a', 'two')
      await waitFor('word of the write', () => told > 0)
      return values
    }
    await registry.follow(['shenma:templates:a'])
    assert.equal(textOf(registry, 'a'), 'two')
  })

  it('have been served when everything was read anew, also if word of them came while it was being read', async t => {
    const { redis, store, registry } = await live(t, { 'templates:a': 'one' })
    const { verifiedAt } = registry.status()
    let told = 0
    t.after(await store.watch(() => { told++ }))
    const { read } = store
    store.read = async keys => {
      store.read = async keys => {
        await waitFor('the end of the reading that is outdated', () => registry.status().verifiedAt !== verifiedAt)
        return await read(keys)
      }
      const values = await read(keys)
      await redis.client.set('shenma:templates:a', 'two')
      await waitFor('word of the write', () => told > 0)
      return values
    }
    await registry.reload()
    assert.equal(textOf(registry, 'a'), 'two')
  })

  it('serves a shared variable\'s new value to the next render', async t => {
    const { redis, registry } = await live(t, { 'environs:m:x': '1' })
    await waitFor('the value', () => registry.environs.cached('m.x')?.value === 1)
    await redis.client.set('shenma:environs:m:x', '2')
    await waitFor('the new value', () => registry.environs.cached('m.x')?.value === 2)
    await redis.client.set('shenma:environs:m:y', '3')
    await waitFor('the new name', () => registry.environs.has('m.y'))
  })

  it('tells no more of a shared variable that was mended, though there are too many to read all of them', async t => {
    const many = Object.fromEntries(Array.from({ length: 1100 }, (_, index) => [`environs:m:${index}`, index < 2 ? '{"broken' : '1']))
    const { redis, registry } = await live(t, many)
    assert.deepEqual(registry.problems(), [])
    for (const name of ['m.0', 'm.1']) await assert.rejects(registry.environs.fetch([name]))
    await redis.client.set('shenma:environs:m:0', '2')
    await waitFor('the mended one to be told of no more', () => registry.problems().map(({ key }) => key).join() === 'shenma:environs:m:1')
    await registry.refresh()
    assert.deepEqual(registry.problems().map(({ key }) => key), ['shenma:environs:m:1'])
  })

  it('does not keep a read in flight when its key changes', async t => {
    const { redis, store, registry } = await live(t, { 'templates:a': 'one' })
    const read = store.read
    let isHeld = false
    let release = () => {}
    store.read = async keys => {
      const values = await read(keys)
      if (isHeld) return values
      isHeld = true
      await new Promise<void>(resolve => { release = resolve })
      return values
    }
    const stale = registry.refresh()
    await waitFor('the slow read', () => isHeld)
    await redis.client.set('shenma:templates:a', 'two')
    await waitFor('the change', () => textOf(registry, 'a') === 'two')
    release()
    await stale
    assert.equal(textOf(registry, 'a'), 'two')
  })

  it('verifies everything after a reconnect', async t => {
    const { redis, registry } = await live(t, { 'templates:a': 'one' })
    await redis.kill()
    await waitFor('the outage', () => registry.status().problem !== undefined)
    assert.equal(textOf(registry, 'a'), 'one')
    await redis.restart()
    await redis.client.set('shenma:templates:a', 'two')
    await waitFor('the change', () => textOf(registry, 'a') === 'two' && registry.status().problem === undefined)
  })

  it('gathers a burst', async t => {
    const { redis, registry } = await live(t, {})
    const before = registry.generation.number
    await redis.client.mset(Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`shenma:templates:t${index}`, `text ${index}`])))
    await waitFor('all', () => registry.generation.prompts.size === 1000)
    assert.ok(registry.generation.number - before < 50)
  })

  it('tells how long each batch of changes took', async t => {
    const served: number[] = []
    const { redis, registry } = await live(t, {}, { onServed: milliseconds => served.push(milliseconds) })
    await redis.client.set('shenma:templates:a', 'one')
    await waitFor('the change', () => textOf(registry, 'a') === 'one' && served.length > 0)
    assert.ok(served.every(milliseconds => milliseconds > 0))
  })
})

describe('Registry: a store that is read without end', () => {
  it('gives the same revision whatever the order and the history of changes', async t => {
    const first = await registered(t, { 'templates:a': 'one', 'templates:b': 'two' })
    const second = await registered(t, { 'templates:b': 'old', 'templates:c': 'gone' })
    await second.write({ 'templates:a': 'one', 'templates:b': 'two' })
    await second.remove('templates:c')
    assert.equal(first.registry.generation.revision, second.registry.generation.revision)
  })

  it('publishes nothing when a scan fails half-way', async t => {
    const { registry, store } = await registered(t, { 'templates:a': 'one', 'templates:b': 'one', 'environs:x': '1' })
    const before = registry.generation
    const { scan } = store
    store.scan = async function * (prefix) {
      for await (const batch of scan(prefix)) yield batch.slice(0, 1)
      store.setProblem('it went away')
      yield await store.read([]) as never
    }
    await registry.refresh()
    assert.equal(registry.generation, before)
    assert.equal(registry.environs.index.size, 1)
    assert.equal(registry.status().problem, 'it went away')
  })

  it('does not bring back a name that was seen before everything was lost', async t => {
    let served = (): void => {}
    const isServed = new Promise<void>(resolve => { served = resolve })
    const { registry, store } = await registered(t, { 'environs:keep': '1' }, { onServed: () => served() })
    const { has, scan } = store
    let isSeen = false
    let release = (): void => {}
    store.has = async keys => {
      const exist = await has(keys)
      isSeen = exist.includes(true)
      await new Promise<void>(resolve => { release = resolve })
      return exist
    }
    store.set('shenma:environs:gone', '1')
    await waitFor('the name to be seen', () => isSeen)
    store.has = has
    store.scan = async function * (prefix) {
      store.scan = scan
      release()
      await isServed
      yield * scan(prefix)
    }
    const { verifiedAt } = registry.status()
    store.lose()
    store.set('shenma:environs:keep', '1')
    await waitFor('everything to be read anew', () => registry.status().verifiedAt !== verifiedAt)
    assert.deepEqual([...registry.environs.index], ['keep'])
  })

  it('has served a key that was followed, also when everything was read anew meanwhile', async t => {
    const { registry, store } = await registered(t, { 'templates:a': 'one' })
    const { read, scan } = store
    let release = (): void => {}
    store.read = async keys => {
      store.read = read
      const values = await read(keys)
      await new Promise<void>(resolve => { release = resolve })
      return values
    }
    store.scan = async function * (prefix) {
      release()
      yield * scan(prefix)
    }
    const following = registry.follow(['shenma:templates:a'])
    store.lose()
    store.set('shenma:templates:a', 'two')
    await following
    assert.equal(textOf(registry, 'a'), 'two')
  })

  it('leaves the heap flat over 1,000 refreshes', async t => {
    const entries = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`templates:t${index}`, `{{> t${(index + 1) % 50}}}`]))
    const { registry, store } = await registered(t, { ...entries, 'environs:m:x': '1' })
    const refresh = async (times: number) => {
      for (let count = 0; count < times; count++) {
        store.set('shenma:templates:t0', `{{> t1}} ${count % 10}`)
        await registry.refresh()
      }
    }
    await refresh(300)
    const before = heapInUse()
    await refresh(1000)
    const grown = heapInUse() - before
    assert.ok(grown < 3_000_000, `the heap has grown by ${grown} bytes`)
  })
})
