import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SharedLock } from '../../src/runtime/concurrency.ts'

const forever = new AbortController().signal

/** Work that ends when it is told to, and says when it begins. */
function work (name: string, begun: string[]) {
  let end = (): void => {}
  const ended = new Promise<void>(resolve => { end = resolve })
  return { end: () => { end() }, run: () => { begun.push(name); return ended } }
}

const turn = (): Promise<void> => new Promise(resolve => { setImmediate(resolve) })

describe('a shared lock', () => {
  it('lets work beside other work of its kind, and alone after all of it', async () => {
    const lock = new SharedLock()
    const begun: string[] = []
    const [one, two, three] = [work('one', begun), work('two', begun), work('three', begun)]
    const all = [lock.beside(forever, one.run), lock.beside(forever, two.run), lock.alone(forever, three.run)]
    await turn()
    assert.deepEqual(begun, ['one', 'two'])
    one.end()
    await turn()
    assert.deepEqual(begun, ['one', 'two'])
    two.end()
    await turn()
    assert.deepEqual(begun, ['one', 'two', 'three'])
    three.end()
    await Promise.all(all)
  })

  it('lets nobody overtake work that waits to be alone', async () => {
    const lock = new SharedLock()
    const begun: string[] = []
    const [one, two, three] = [work('one', begun), work('two', begun), work('three', begun)]
    const all = [lock.beside(forever, one.run), lock.alone(forever, two.run), lock.beside(forever, three.run)]
    one.end()
    await turn()
    assert.deepEqual(begun, ['one', 'two'])
    two.end()
    await turn()
    assert.deepEqual(begun, ['one', 'two', 'three'])
    three.end()
    await Promise.all(all)
  })

  it('is free again after work that has failed', async () => {
    const lock = new SharedLock()
    await assert.rejects(lock.alone(forever, () => Promise.reject(new Error('no'))), { message: 'no' })
    assert.equal(await lock.alone(forever, () => Promise.resolve(1)), 1)
  })

  it('lets those behind in when whoever waits has given up', async () => {
    const lock = new SharedLock()
    const begun: string[] = []
    const [one, two, three] = [work('one', begun), work('two', begun), work('three', begun)]
    const leaving = new AbortController()
    const first = lock.beside(forever, one.run)
    const second = lock.alone(leaving.signal, two.run)
    const third = lock.beside(forever, three.run)
    leaving.abort(new Error('too long'))
    await assert.rejects(second, { message: 'too long' })
    await turn()
    assert.deepEqual(begun, ['one', 'three'])
    one.end()
    three.end()
    await Promise.all([first, third])
    assert.equal(await lock.alone(forever, () => Promise.resolve(2)), 2)
  })

  it('does nothing for whoever has left before', async () => {
    await assert.rejects(new SharedLock().beside(AbortSignal.abort(new Error('gone')), () => Promise.resolve()), { message: 'gone' })
  })
})
