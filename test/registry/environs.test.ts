import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ServiceError } from '../../src/base/errors.ts'
import { Environs } from '../../src/registry/kinds/environ-kind.ts'
import { createMemoryStore, type MemoryStore } from '../helpers/memory-store.ts'

const PREFIX = 'shenma:environs:'

/** What the values may take in memory, in bytes. */
const LIMIT = 10_000

interface SetUp {
  readonly store: MemoryStore
  readonly environs: Environs
  readonly clock: { now: number }
  readonly reads: string[][]
  /** Takes a whole listing of these names. */
  list (...names: string[]): Promise<void>
}

/** @param changes how the store says that changes arrive */
async function setUp (values: Readonly<Record<string, string>>, changes: 'pushed' | 'polled' = 'polled'): Promise<SetUp> {
  const store = createMemoryStore(Object.entries(values).map(([name, text]) => [PREFIX + name, text]))
  const status = store.status.bind(store)
  store.status = () => ({ ...status(), changes })
  const clock = { now: 0 }
  const environs = new Environs({ store, prefix: PREFIX, now: () => clock.now, limit: LIMIT })
  const reads: string[][] = []
  const read = store.read.bind(store)
  store.read = async keys => {
    reads.push([...keys])
    return await read(keys)
  }
  async function list (...names: string[]): Promise<void> {
    const listing = environs.beginListing()
    await listing.add(names.map(name => PREFIX + name))
    await listing.finish()
    listing.replace()
  }
  await list(...Object.keys(values))
  return { store, environs, clock, reads, list }
}

describe('Environs', () => {
  it('reads all wanted values in one round trip', async () => {
    const { environs, reads } = await setUp({ 'a:x': '1', 'a:y': '2' })
    const values = await environs.fetch(['a.x', 'a.y'])
    assert.deepEqual([...values].map(([name, { value }]) => [name, value]), [['a.x', 1], ['a.y', 2]])
    assert.equal(reads.length, 1)
  })

  it('has a value in memory for 5 seconds while changes are polled', async () => {
    const { environs, clock } = await setUp({ x: '1' })
    assert.equal(environs.cached('x'), undefined)
    await environs.fetch(['x'])
    clock.now = 4999
    assert.equal(environs.cached('x')?.value, 1)
    clock.now = 5000
    assert.equal(environs.cached('x'), undefined)
  })

  for (const [what, late] of [['an older value', { kind: 'text', text: '1' }], ['word that it was missing', { kind: 'missing' }]] as const) {
    it(`does not give a newer value up for ${what}, in an answer that is late`, async () => {
      const { environs, store, clock } = await setUp({ x: '1' }, 'pushed')
      const { read } = store
      let answer = (): void => {}
      store.read = async () => {
        store.read = read
        await new Promise<void>(resolve => { answer = resolve })
        return [late]
      }
      const slow = environs.fetch(['x'])
      store.set(`${PREFIX}x`, '2')
      environs.expireKeys([`${PREFIX}x`])
      await environs.fetch(['x'])
      clock.now = 60_000
      answer()
      await slow
      store.setProblem('it is away')
      assert.deepEqual([environs.has('x'), (await environs.fetch(['x'])).get('x')?.value], [true, 2])
    })
  }

  it('reads a value once for all that want it at the same time', async () => {
    const { environs, reads } = await setUp({ x: '1' })
    await Promise.all([environs.fetch(['x']), environs.fetch(['x']), environs.fetch(['x'])])
    assert.equal(reads.length, 1)
  })

  it('leaves out a value that has gone and was never read', async () => {
    const { environs, store } = await setUp({ x: '1' })
    store.delete(`${PREFIX}x`)
    assert.equal((await environs.fetch(['x'])).size, 0)
  })

  it('serves the last good value until the listing says that the name has gone', async () => {
    const { environs, store, clock, list } = await setUp({ x: '1' })
    await environs.fetch(['x'])
    store.delete(`${PREFIX}x`)
    clock.now = 6000
    assert.equal((await environs.fetch(['x'])).get('x')?.value, 1)
    await list()
    assert.equal(environs.has('x'), false)
    assert.equal((await environs.fetch(['x'])).size, 0)
  })

  it('serves what is in memory while the store fails, however old', async () => {
    const { environs, store, clock } = await setUp({ x: '1' })
    await environs.fetch(['x'])
    store.setProblem('it is away')
    clock.now = 3_600_000
    assert.equal((await environs.fetch(['x'])).get('x')?.value, 1)
  })

  it('serves what is in memory when the store takes long, and what it says at last to the next', async () => {
    const { environs, store, clock } = await setUp({ x: '1' })
    await environs.fetch(['x'])
    clock.now = 5001
    let answer = () => {}
    const { read } = store
    store.read = async keys => {
      await new Promise<void>(resolve => { answer = resolve })
      return await read.call(store, keys)
    }
    store.set('shenma:environs:x', '2')
    assert.equal((await environs.fetch(['x'])).get('x')?.value, 1)
    const reading = environs.fetch(['x'])
    answer()
    assert.equal((await reading).get('x')?.value, 2)
    assert.equal(environs.cached('x')?.value, 2)
  })

  it('answers 503 for a value that is known by name and was never read', async () => {
    const { environs, store } = await setUp({ x: '1' })
    store.setProblem('it is away')
    await assert.rejects(environs.fetch(['x']), { code: 'STORE_UNAVAILABLE', statusCode: 503 })
  })

  it('says of a value that was never right what is wrong with it, and where', async () => {
    const { environs } = await setUp({ x: '{"a":' })
    await assert.rejects(environs.fetch(['x']), (error: unknown) => {
      assert.ok(error instanceof ServiceError)
      assert.deepEqual([error.code, error.statusCode, error.details?.['key']], ['ENVIRON_INVALID', 400, `${PREFIX}x`])
      assert.match(error.message, new RegExp(`^What is stored under ${PREFIX}x cannot be used as the shared variable "x": .*line 1`))
      return true
    })
  })

  it('serves the last good value of a key that breaks, and reports it', async () => {
    const { environs, store, clock } = await setUp({ x: '{"a":1}' })
    await environs.fetch(['x'])
    store.set(`${PREFIX}x`, '{"a":')
    clock.now = 6000
    assert.deepEqual((await environs.fetch(['x'])).get('x')?.value, { a: 1 })
    assert.deepEqual(environs.problems().map(({ key, servesLastGood }) => [key, servesLastGood]), [[`${PREFIX}x`, true]])
  })

  it('does not keep a value that changed while it was being read', async () => {
    const { environs } = await setUp({ x: '1' })
    const reading = environs.fetch(['x'])
    environs.expireKeys([`${PREFIX}x`])
    assert.equal((await reading).get('x')?.value, 1)
    assert.equal(environs.cached('x'), undefined)
  })

  it('forgets values of names that are no longer listed', async () => {
    const { environs, store, list } = await setUp({ x: '1', y: '2' })
    await environs.fetch(['x'])
    store.delete(`${PREFIX}x`)
    await list('y')
    store.setProblem('it is away')
    await assert.rejects(environs.fetch(['x']), { code: 'STORE_UNAVAILABLE' })
  })

  it('keeps a variable when a key goes that has its path and is misnamed', async () => {
    const { environs, list } = await setUp({ 'm:a': '"good"' }, 'pushed')
    await list('m:a', 'm.a')
    await environs.fetch(['m.a'])
    assert.deepEqual(environs.problems().map(({ key }) => key), [`${PREFIX}m.a`])
    environs.applyKeys([[`${PREFIX}m.a`, false]])
    assert.deepEqual([environs.has('m.a'), environs.cached('m.a')?.value, environs.problems()], [true, 'good', []])
  })

  it('keeps a name that a listing does not show and the store has', async () => {
    const { environs, list } = await setUp({ x: '1', y: '2' })
    await list('y')
    assert.deepEqual([...environs.index], ['x', 'y'])
  })
})

describe('problems of Environs', () => {
  const codes = (environs: Environs) => environs.problems().map(({ key, diagnostics }) => [key, diagnostics[0]?.severity, diagnostics[0]?.code])

  it('tell of names that every template has already', async () => {
    const { environs } = await setUp({ 'variables:x': '1', args: '1', 'caller:name': '1', 'my:variables': '1' })
    assert.deepEqual(codes(environs), ['variables:x', 'args', 'caller:name'].map(name => [PREFIX + name, 'warning', 'NAME_RESERVED']))
    assert.ok(environs.has('variables.x'))
  })

  it('tell of a value that gives way to the keys below it, as long as it does', async () => {
    const { environs, list, store } = await setUp({ x: '1', 'x:y': '2', z: '{}', 'z:y': '3' })
    await environs.fetch(['x', 'x.y', 'z', 'z.y'])
    assert.deepEqual(codes(environs), [[`${PREFIX}x`, 'warning', 'VALUE_SHADOWED']])
    store.delete(`${PREFIX}x:y`)
    await list('x', 'z', 'z:y')
    assert.deepEqual(codes(environs), [])
    await list('x', 'x:w')
    await environs.verifyValues()
    assert.deepEqual(codes(environs), [[`${PREFIX}x`, 'warning', 'VALUE_SHADOWED']])
  })
})

describe('problems of Environs: a value that gives way to keys below it', () => {
  const shadowed = (environs: Environs) => environs.problems().filter(({ diagnostics }) => diagnostics[0]?.code === 'VALUE_SHADOWED').map(({ key }) => key.slice(PREFIX.length))

  it('is told of when a key comes below a value that is in memory, and no more when it goes', async () => {
    const { environs } = await setUp({ 'm:a': '"text"', o: '{}' }, 'pushed')
    await environs.readAhead()
    environs.applyKeys([[`${PREFIX}m:a:b:c`, true], [`${PREFIX}o:x`, true]])
    assert.deepEqual(shadowed(environs), ['m:a'])
    environs.applyKeys([[`${PREFIX}m:a:b:c`, false]])
    assert.deepEqual(shadowed(environs), [])
  })

  for (const [how, remove] of [
    ['were deleted', async ({ environs }: SetUp, names: readonly string[]) => { environs.applyKeys(names.map(name => [PREFIX + name, false])) }],
    ['are listed no more', async ({ list, store }: SetUp, names: readonly string[]) => {
      for (const name of names) store.delete(PREFIX + name)
      await list('new', 'new:y')
    }]
  ] as const) {
    it(`is told of though 1,000 others ${how}`, async () => {
      const others = Array.from({ length: 1000 }, (_, index) => [`n${index}`, `n${index}:y`]).flat()
      const all = await setUp(Object.fromEntries([...others, 'new', 'new:y'].map(name => [name, '1'])), 'pushed')
      await all.environs.fetch(others.map(name => name.replaceAll(':', '.')))
      assert.equal(shadowed(all.environs).length, 1000)
      await remove(all, others)
      await all.environs.fetch(['new'])
      assert.deepEqual(shadowed(all.environs), ['new'])
    })
  }
})

describe('Environs while changes are pushed', () => {
  it('have a value in memory until it is pushed, however long', async () => {
    const { environs, clock, reads } = await setUp({ x: '1' }, 'pushed')
    await environs.fetch(['x'])
    clock.now = 3_600_000
    assert.equal(environs.cached('x')?.value, 1)
    environs.expireKeys([`${PREFIX}x`])
    assert.equal(environs.cached('x'), undefined)
    assert.equal(reads.length, 1)
  })

  it('read every value again after the push was interrupted', async () => {
    const { environs } = await setUp({ x: '1' }, 'pushed')
    await environs.fetch(['x'])
    environs.expireAll()
    assert.equal(environs.cached('x'), undefined)
    await environs.fetch(['x'])
    assert.equal(environs.cached('x')?.value, 1)
  })

  it('let a value go when its time to live is over, before that is pushed', async () => {
    const { environs, store, clock } = await setUp({ x: '1' }, 'pushed')
    store.read = async () => [{ kind: 'text', text: '1', expiresAt: Date.now() + 1000 }]
    await environs.fetch(['x'])
    clock.now = 900
    assert.equal(environs.cached('x')?.value, 1)
    clock.now = 1001
    assert.equal(environs.cached('x'), undefined)
    store.read = async () => [{ kind: 'missing' }]
    assert.equal((await environs.fetch(['x'])).size, 0)
    assert.equal(environs.has('x'), false)
  })

  it('drop the values unused for longest beyond their bound', async () => {
    const large = JSON.stringify('a'.repeat(4000))
    const { environs } = await setUp({ x: large, y: large, z: large }, 'pushed')
    for (const name of ['x', 'y', 'z']) await environs.fetch([name])
    assert.deepEqual(['x', 'y', 'z'].map(name => environs.cached(name) !== undefined), [false, true, true])
    const { entries, bytes, hits, misses } = environs.statistics()
    assert.deepEqual([entries, hits, misses], [2, 2, 1])
    assert.ok(bytes > 8000 && bytes <= LIMIT)
  })

  it('count as looked up by nobody when they are read ahead', async () => {
    const { environs } = await setUp({ x: '1' }, 'pushed')
    await environs.readAhead()
    await environs.readAhead()
    const { entries, hits, misses } = environs.statistics()
    assert.deepEqual([entries, hits, misses], [1, 0, 0])
  })

  it('are not all read again that a warning is told of, only those that have changed', async () => {
    const { environs, store, reads } = await setUp(Object.fromEntries(Array.from({ length: 1002 }, (_, index) => [`n${index}`, 'no JSON'])), 'pushed')
    for (let index = 0; index < 1002; index++) await environs.fetch([`n${index}`])
    environs.expireAll()
    const before = reads.length
    await environs.readAhead()
    await environs.readAhead([`${PREFIX}another`])
    assert.equal(reads.length, before)
    store.set(`${PREFIX}n1`, '"JSON"')
    environs.expireKeys([`${PREFIX}n1`])
    await environs.readAhead([`${PREFIX}n1`])
    assert.deepEqual([reads.slice(before), environs.problems().some(({ key }) => key === `${PREFIX}n1`)], [[[`${PREFIX}n1`]], false])
  })

  it('read at most 1,000 ahead, those first that were bad the longest ago', async () => {
    const { environs, store, reads } = await setUp(Object.fromEntries(Array.from({ length: 1002 }, (_, index) => [`n${index}`, '{"broken'])), 'pushed')
    await environs.readAhead()
    assert.equal(reads.length, 0)
    for (let index = 0; index < 1002; index++) await environs.fetch([`n${index}`]).catch(() => {})
    for (let index = 0; index < 1002; index++) store.set(`${PREFIX}n${index}`, '1')
    await environs.readAhead()
    assert.deepEqual([reads.slice(-4).map(keys => keys.length), Array.from(environs.problems(), ({ key }) => key)], [[250, 250, 250, 250], [`${PREFIX}n1000`, `${PREFIX}n1001`]])
    await environs.readAhead()
    assert.deepEqual(environs.problems(), [])
  })

  it('read what is in memory again when everything is verified', async () => {
    const { environs, store } = await setUp({ x: '1' }, 'pushed')
    await environs.fetch(['x'])
    store.set(`${PREFIX}x`, '2')
    await environs.verifyValues()
    assert.equal(environs.cached('x')?.value, 2)
  })
})
