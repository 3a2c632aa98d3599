import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Turnstile } from '../../src/workers/turnstile.ts'

describe('a turnstile', () => {
  const start = () => {
    const admitted: string[] = []
    return { admitted, turnstile: new Turnstile<string>(who => admitted.push(who)) }
  }

  it('lets one in at a time, in the order in which they ask', () => {
    const { admitted, turnstile } = start()
    for (const who of ['a', 'b', 'c']) turnstile.enter(who)
    assert.deepEqual(admitted, ['a'])
    turnstile.leave('a')
    assert.deepEqual(admitted, ['a', 'b'])
    turnstile.leave('b')
    assert.deepEqual(admitted, ['a', 'b', 'c'])
  })

  it('passes over those who have left the line', () => {
    const { admitted, turnstile } = start()
    for (const who of ['a', 'b', 'c']) turnstile.enter(who)
    turnstile.leave('b')
    turnstile.leave('a')
    assert.deepEqual(admitted, ['a', 'c'])
  })

  it('is open after all have left, also those who never asked', () => {
    const { admitted, turnstile } = start()
    turnstile.enter('a')
    turnstile.leave('x')
    turnstile.leave('a')
    turnstile.enter('a')
    assert.deepEqual(admitted, ['a', 'a'])
  })
})
