import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { oneAtATime } from '../../src/runtime/concurrency.ts'

describe('oneAtATime', () => {
  it('never overlaps and collapses calls that come meanwhile into one', async () => {
    let active = 0
    let most = 0
    let runs = 0
    const work = oneAtATime(async () => {
      runs++
      most = Math.max(most, ++active)
      await new Promise(resolve => setImmediate(resolve))
      active--
    })
    await Promise.all(Array.from({ length: 50 }, () => work.run()))
    assert.equal(most, 1)
    assert.equal(runs, 2)
  })

  it('starts anew after it has ended', async () => {
    let runs = 0
    const work = oneAtATime(async () => { runs++ })
    await work.run()
    await work.run()
    assert.equal(runs, 2)
  })

  it('is idle when every run that was asked for has ended', async () => {
    let ended = 0
    const work = oneAtATime(async () => {
      await new Promise(resolve => setImmediate(resolve))
      ended++
    })
    void work.run()
    void work.run()
    await work.idle()
    assert.equal(ended, 2)
  })
})
