import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { inTurn } from '../../src/runtime/event-loop.ts'

/** Longer than the share of one turn of the event loop. */
const LONG = 15

describe('inTurn', () => {
  beforeEach(async () => {
    // What another test has spent is forgotten a turn later.
    for (let turn = 0; turn < 5; turn++) await nextTurn()
  })

  it('does short work at once', () => {
    assert.equal(inTurn(() => 'done'), 'done')
  })

  it('lets work wait for a later turn once one has been used up', async () => {
    let turns = 0
    inTurn(() => busy(LONG))
    setImmediate(() => { turns++ })
    const later = inTurn(() => turns)
    assert.ok(later instanceof Promise)
    assert.equal(await later, 1)
  })

  it('takes what waits in the order in which it came, also before what comes later', async () => {
    const order: number[] = []
    inTurn(() => busy(LONG))
    const first = inTurn(() => { order.push(1) })
    const second = inTurn(() => { order.push(2) })
    await Promise.all([first, second])
    assert.deepEqual(order, [1, 2])
  })

  it('lets other events in between two long pieces of work', async () => {
    const events: string[] = []
    const work = (name: string) => inTurn(() => {
      busy(LONG)
      events.push(name)
    })
    work('one')
    const rest = Promise.all([work('two'), work('three')])
    setImmediate(() => { events.push('event'); setImmediate(() => setImmediate(() => events.push('event'))) })
    await rest
    assert.deepEqual(events.filter(event => event !== 'event'), ['one', 'two', 'three'])
    assert.ok(events.indexOf('event') < events.indexOf('two'))
    assert.ok(events.lastIndexOf('event') < events.indexOf('three'))
  })

  it('throws what work throws, at once or later', async () => {
    const fail = () => { throw new Error('no') }
    assert.throws(() => inTurn(fail), /no/)
    inTurn(() => busy(LONG))
    await assert.rejects(async () => await inTurn(fail), /no/)
  })
})

function busy (milliseconds: number): void {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}
