import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EmptyHold } from '../../src/registry/sync/empty-hold.ts'

const never = () => false

describe('EmptyHold', () => {
  it('accepts a listing that has keys', () => {
    assert.equal(new EmptyHold(1000).decide('tools', ['a'], 1, never), 'accept')
  })

  it('accepts an empty listing when nothing was loaded', () => {
    assert.equal(new EmptyHold(1000).decide('tools', [], 0, never), 'accept')
  })

  it('accepts an empty listing when every delete was seen', () => {
    assert.equal(new EmptyHold(1000).decide('tools', ['a', 'b'], 0, () => true), 'accept')
  })

  it('holds a kind that became empty until its time is over', () => {
    let now = 0
    const hold = new EmptyHold(1000, () => now)
    assert.equal(hold.decide('tools', ['a'], 0, never), 'held now')
    now = 999
    assert.equal(hold.decide('tools', ['a'], 0, never), 'held')
    assert.deepEqual(hold.held(), ['tools'])
    now = 1000
    assert.equal(hold.decide('tools', ['a'], 0, never), 'accept')
    assert.deepEqual(hold.held(), [])
  })

  it('begins anew when keys were there meanwhile', () => {
    let now = 0
    const hold = new EmptyHold(1000, () => now)
    hold.decide('tools', ['a'], 0, never)
    now = 500
    hold.decide('tools', ['a'], 1, never)
    now = 1200
    assert.equal(hold.decide('tools', ['a'], 0, never), 'held now')
  })

  it('believes the next listing after a release', () => {
    const hold = new EmptyHold(1000)
    hold.decide('tools', ['a'], 0, never)
    hold.release()
    assert.equal(hold.decide('tools', ['a'], 0, never), 'accept')
  })
})
