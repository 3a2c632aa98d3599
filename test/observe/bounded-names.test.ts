import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BoundedNames, OTHERS } from '../../src/observe/metrics.ts'

describe('BoundedNames', () => {
  it('takes up names until there is no more room', () => {
    const names = new BoundedNames(2)
    assert.deepEqual(['a', 'b', 'c', 'a'].map(name => names.take(name)), ['a', 'b', OTHERS, 'a'])
  })

  it('always knows those that were reserved', () => {
    const names = new BoundedNames(1)
    names.reserve(['known'])
    assert.deepEqual([names.take('a'), names.take('b'), names.take('known')], ['a', OTHERS, 'known'])
  })

  it('finds without taking up', () => {
    const names = new BoundedNames(1)
    assert.deepEqual([names.find('a'), names.take('b'), names.find('b')], [OTHERS, 'b', 'b'])
  })
})
