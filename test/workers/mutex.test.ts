import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Mutex } from '../../src/workers/primary.ts'

describe('a mutex', () => {
  const start = () => {
    const admitted: string[] = []
    return { admitted, mutex: new Mutex<string>(who => admitted.push(who)) }
  }

  it('lets one in at a time, in the order in which they ask', () => {
    const { admitted, mutex } = start()
    for (const who of ['a', 'b', 'c']) mutex.enter(who)
    assert.deepEqual(admitted, ['a'])
    mutex.leave('a')
    assert.deepEqual(admitted, ['a', 'b'])
    mutex.leave('b')
    assert.deepEqual(admitted, ['a', 'b', 'c'])
  })

  it('passes over those who have left the line', () => {
    const { admitted, mutex } = start()
    for (const who of ['a', 'b', 'c']) mutex.enter(who)
    mutex.leave('b')
    mutex.leave('a')
    assert.deepEqual(admitted, ['a', 'c'])
  })

  it('is open after all have left, also those who never asked', () => {
    const { admitted, mutex } = start()
    mutex.enter('a')
    mutex.leave('x')
    mutex.leave('a')
    mutex.enter('a')
    assert.deepEqual(admitted, ['a', 'a'])
  })
})
