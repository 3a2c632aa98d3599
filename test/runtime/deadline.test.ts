import assert from 'node:assert/strict'
import { getEventListeners, once } from 'node:events'
import { describe, it } from 'node:test'
import { Deadline, LightSignal, timeLimit, untilAborted } from '../../src/runtime/deadline.ts'
import { collectGarbage } from '../helpers/garbage.ts'

const never = new Promise<void>(() => {})

describe('Deadline', () => {
  it('aborts when the time is over, as a TimeoutError', async t => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const deadline = new Deadline(499.5)
    const { signal } = deadline
    t.mock.timers.tick(400)
    assert.equal(signal.aborted, false)
    t.mock.timers.tick(100)
    const { name, message } = signal.reason as Error
    assert.deepEqual([signal.aborted, name, message], [true, 'TimeoutError', 'not done within 500 ms'])
  })

  it('counts from when it is told to', () => {
    const since = performance.now() - 100
    const deadline = new Deadline(1000, since)
    assert.equal(deadline.at, since + 1000)
    assert.ok(deadline.remaining() <= 900)
  })

  it('aborts with the reason of a caller who leaves, or has left', () => {
    const caller = new LightSignal()
    const early = new Deadline(60_000, performance.now(), caller)
    const { signal } = early
    caller.abort('left')
    const late = new Deadline(60_000, performance.now(), caller)
    assert.deepEqual([signal.reason, late.signal.reason, late.toAbortSignal().reason], ['left', 'left', 'left'])
    early.end()
    late.end()
  })

  it('aborts with other reasons where it is given them', t => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const reasons = { expired: (milliseconds: number) => new Error(`${milliseconds} are over`), left: () => 'gone' }
    const caller = new LightSignal()
    const [expired, left] = [new Deadline(5, undefined, undefined, reasons), new Deadline(5, undefined, caller, reasons)]
    const [first, second] = [expired.signal, left.signal]
    caller.abort('left')
    t.mock.timers.tick(5)
    assert.deepEqual([(first.reason as Error).message, second.reason], ['5 are over', 'gone'])
  })

  it('has no end of its own with an endless timeout', t => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { signal } = new Deadline(Infinity)
    t.mock.timers.tick(2 ** 31)
    assert.equal(signal.aborted, false)
  })

  it('leaves neither timer nor listener when it has ended', t => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const caller = new LightSignal()
    const deadline = new Deadline(5, undefined, caller)
    const { signal } = deadline
    deadline.end()
    t.mock.timers.tick(5)
    caller.abort('left')
    assert.equal(signal.aborted, false)
  })

  it('tells what still listens when it is abandoned', () => {
    const deadline = new Deadline(60_000)
    const signal = deadline.toAbortSignal()
    deadline.abandon()
    assert.equal((signal.reason as Error).name, 'AbortError')
  })
})

describe('untilAborted', () => {
  it('gives what the work gives, and its error', async () => {
    const { signal } = new AbortController()
    assert.equal(await untilAborted(signal, Promise.resolve(7)), 7)
    await assert.rejects(untilAborted(signal, Promise.reject(new Error('failed'))), { message: 'failed' })
  })

  it('ends with the reason of an abort, before and during the work', async () => {
    const controller = new AbortController()
    const waiting = untilAborted(controller.signal, never)
    controller.abort(new Error('over'))
    await assert.rejects(waiting, { message: 'over' })
    await assert.rejects(untilAborted(controller.signal, Promise.resolve(7)), { message: 'over' })
  })

  it('takes its listener away when the work has settled', async () => {
    const { signal } = new AbortController()
    await untilAborted(signal, Promise.resolve())
    await assert.rejects(untilAborted(signal, Promise.reject(new Error('failed'))))
    assert.deepEqual(getEventListeners(signal, 'abort'), [])
  })
})

describe('a time limit', () => {
  it('ends the work although garbage is collected before its time', async () => {
    const patience = setTimeout(() => {}, 10_000)
    const ended = Array.from({ length: 20 }, () => once(timeLimit(new AbortController().signal, 30), 'abort'))
    setImmediate(collectGarbage)
    await Promise.all(ended)
    clearTimeout(patience)
  })

  it('ends it so too where another signal is joined to it', async () => {
    const patience = setTimeout(() => {}, 10_000)
    const closing = new AbortController()
    const ended = Array.from({ length: 20 }, () => once(AbortSignal.any([timeLimit(undefined, 30), closing.signal]), 'abort'))
    setImmediate(collectGarbage)
    await Promise.all(ended)
    clearTimeout(patience)
  })

  it('ends it when the caller leaves', () => {
    const caller = new AbortController()
    const limit = timeLimit(caller.signal, 10_000)
    caller.abort()
    assert.equal(limit.aborted, true)
  })
})
