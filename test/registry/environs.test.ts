import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Environs } from '../../src/registry/environs.ts'
import { createMemoryStore } from '../../src/store/memory-store.ts'

const PREFIX = 'shenma:environs:'

function setUp (values: Readonly<Record<string, string>>) {
  const store = createMemoryStore(Object.entries(values).map(([name, text]) => [PREFIX + name, text]))
  const clock = { now: 0 }
  const environs = new Environs(store, PREFIX, () => clock.now)
  environs.replaceKeys(Object.keys(values).map(name => PREFIX + name))
  const reads: string[][] = []
  const read = store.read.bind(store)
  store.read = async keys => {
    reads.push([...keys])
    return await read(keys)
  }
  return { store, environs, clock, reads }
}

describe('Environs', () => {
  it('reads all wanted values in one round trip', async () => {
    const { environs, reads } = setUp({ 'a:x': '1', 'a:y': '2' })
    const values = await environs.fetch(['a.x', 'a.y'])
    assert.deepEqual([...values].map(([name, { value }]) => [name, value]), [['a.x', 1], ['a.y', 2]])
    assert.equal(reads.length, 1)
  })

  it('has a value in memory for 5 seconds', async () => {
    const { environs, clock } = setUp({ x: '1' })
    assert.equal(environs.cached('x'), undefined)
    await environs.fetch(['x'])
    clock.now = 4999
    assert.equal(environs.cached('x')?.value, 1)
    clock.now = 5000
    assert.equal(environs.cached('x'), undefined)
  })

  it('reads a value once for all that want it at the same time', async () => {
    const { environs, reads } = setUp({ x: '1' })
    await Promise.all([environs.fetch(['x']), environs.fetch(['x']), environs.fetch(['x'])])
    assert.equal(reads.length, 1)
  })

  it('leaves out a value that has gone and was never read', async () => {
    const { environs, store } = setUp({ x: '1' })
    store.delete(`${PREFIX}x`)
    assert.equal((await environs.fetch(['x'])).size, 0)
  })

  it('serves the last good value until the listing says that the name has gone', async () => {
    const { environs, store, clock } = setUp({ x: '1' })
    await environs.fetch(['x'])
    store.delete(`${PREFIX}x`)
    clock.now = 6000
    assert.equal((await environs.fetch(['x'])).get('x')?.value, 1)
    environs.replaceKeys([])
    assert.equal(environs.has('x'), false)
    assert.equal((await environs.fetch(['x'])).size, 0)
  })

  it('serves what is in memory while the store fails, however old', async () => {
    const { environs, store, clock } = setUp({ x: '1' })
    await environs.fetch(['x'])
    store.setProblem('it is away')
    clock.now = 3_600_000
    assert.equal((await environs.fetch(['x'])).get('x')?.value, 1)
  })

  it('answers 503 for a value that is known by name and was never read', async () => {
    const { environs, store } = setUp({ x: '1' })
    store.setProblem('it is away')
    await assert.rejects(environs.fetch(['x']), { code: 'STORE_UNAVAILABLE', statusCode: 503 })
  })

  it('serves the last good value of a key that breaks, and reports it', async () => {
    const { environs, store, clock } = setUp({ x: '{"a":1}' })
    await environs.fetch(['x'])
    store.set(`${PREFIX}x`, '{"a":')
    clock.now = 6000
    assert.deepEqual((await environs.fetch(['x'])).get('x')?.value, { a: 1 })
    assert.deepEqual(environs.problems().map(({ key, servesLastGood }) => [key, servesLastGood]), [[`${PREFIX}x`, true]])
  })

  it('does not keep a value that changed while it was being read', async () => {
    const { environs } = setUp({ x: '1' })
    const reading = environs.fetch(['x'])
    environs.expire(['x'])
    assert.equal((await reading).get('x')?.value, 1)
    assert.equal(environs.cached('x'), undefined)
  })

  it('forgets values of names that are no longer listed', async () => {
    const { environs, store } = setUp({ x: '1', y: '2' })
    await environs.fetch(['x'])
    environs.replaceKeys([`${PREFIX}y`])
    store.setProblem('it is away')
    await assert.rejects(environs.fetch(['x']), { code: 'STORE_UNAVAILABLE' })
  })
})
