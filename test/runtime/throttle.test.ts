import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createThrottle } from '../../src/runtime/concurrency.ts'

describe('a throttle', () => {
  it('begins at once, and once more after the interval for all that was asked for meanwhile', t => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let begun = 0
    const throttle = createThrottle(() => { begun++ }, 5000)
    for (let request = 0; request < 100; request++) throttle.request()
    assert.equal(begun, 1)
    t.mock.timers.tick(5000)
    assert.equal(begun, 2)
    t.mock.timers.tick(5000)
    assert.equal(begun, 2)
  })

  it('begins nothing after it was stopped', t => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let begun = 0
    const throttle = createThrottle(() => { begun++ }, 5000)
    throttle.request()
    throttle.request()
    throttle.stop()
    t.mock.timers.tick(10_000)
    throttle.request()
    assert.equal(begun, 1)
  })
})
