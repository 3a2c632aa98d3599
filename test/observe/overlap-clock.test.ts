import assert from 'node:assert/strict'
import { it } from 'node:test'
import { OverlapClock } from '../../src/observe/activity.ts'

it('OverlapClock counts time once in which several run, and none in which nothing does', () => {
  const clock = new OverlapClock()
  clock.enter(10)
  clock.enter(20)
  clock.leave(40)
  assert.equal(clock.read(45), 35)
  clock.leave(50)
  clock.enter(100)
  clock.leave(105)
  assert.equal(clock.read(1000), 45)
})
