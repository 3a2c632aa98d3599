import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { getHeapStatistics } from 'node:v8'
import { HotSessions } from '../../src/session/session-log.ts'
import { type Session } from '../../src/session/session.ts'
import { newId } from './runners.ts'

const MIB = 1024 * 1024

function sessionOf (bytes: number, status: Session['status'] = 'waiting_input'): Session {
  return { id: newId(), bytes, status } as Session
}

describe('Sessions in memory', () => {
  it('take no more than an eighth of the heap, however few they are', () => {
    const [hot, sessions] = [new HotSessions(), Array.from({ length: 500 }, () => sessionOf(MIB))]
    for (const session of sessions) hot.put(session)
    const kept = sessions.filter(({ id }) => hot.peek(id) !== undefined)
    assert.ok(kept.length > 0 && kept.length * 2 * MIB <= getHeapStatistics().heap_size_limit / 8, `${kept.length} of 500`)
    assert.equal(kept.at(-1), sessions.at(-1))
  })

  it('are a thousand at most', () => {
    const [hot, sessions] = [new HotSessions(), Array.from({ length: 1001 }, () => sessionOf(10))]
    for (const session of sessions) hot.put(session)
    assert.equal(sessions.filter(({ id }) => hot.get(id) !== undefined).length, 1000)
  })

  it('leave out one that alone is too large', () => {
    const [hot, large, small] = [new HotSessions(), sessionOf(1024 * MIB), sessionOf(1)]
    hot.put(small)
    hot.put(large)
    assert.deepEqual([hot.get(large.id), hot.get(small.id)], [undefined, small])
  })

  it('go soon after their end', t => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const [hot, ended, open] = [new HotSessions(), sessionOf(1, 'completed'), sessionOf(1)]
    hot.put(ended)
    hot.put(open)
    assert.equal(hot.peek(ended.id), ended)
    t.mock.timers.tick(6000)
    assert.deepEqual([hot.peek(ended.id), hot.peek(open.id)], [undefined, open])
  })
})
