import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { AdmissionQueue } from '../../../src/http/admission.ts'
import { inTurn } from '../../../src/runtime/event-loop.ts'
import { waitFor } from '../../helpers/wait-for.ts'

const LIMIT = 100

describe('the line of requests that wait', () => {
  beforeEach(async () => {
    // What another test has spent is forgotten a turn later.
    for (let turn = 0; turn < 5; turn++) await nextTurn()
  })

  it('begins at once what finds a turn with time left', () => {
    const { enter, events } = lineAt({ now: 0 })
    enter('a')
    assert.deepEqual(events, ['begins a'])
  })

  it('begins in the order of arrival, each of them once', async () => {
    const { enter, events } = lineAt({ now: 0 })
    useUpTurn()
    for (const name of ['a', 'b', 'c']) enter(name)
    assert.deepEqual(events, [])
    await waitFor('all to be begun', () => events.length === 3)
    assert.deepEqual(events, ['begins a', 'begins b', 'begins c'])
  })

  it('refuses nobody for a burst, however long it made them wait', async () => {
    const clock = { now: 0 }
    const { enter, events } = lineAt(clock)
    useUpTurn()
    for (const name of ['a', 'b', 'c']) enter(name)
    clock.now = 50 * LIMIT
    await waitFor('all to be begun', () => events.length === 3)
    assert.deepEqual(events, ['begins a', 'begins b', 'begins c'])
  })

  it('begins the latest first once the wait stays too long, and refuses who has waited too long', async () => {
    const { events } = await overload()
    const refused = events.filter(event => event.startsWith('refuses'))
    assert.deepEqual(events.slice(0, 4), ['begins 0', 'begins 1', 'begins 2', 'begins 3'])
    assert.ok(events.indexOf('begins 11') > 0 && events.indexOf('begins 11') < events.findIndex(event => event.startsWith('refuses')), events.join())
    assert.ok(refused.length > 0)
    assert.equal(new Set(events.map(event => event.split(' ')[1])).size, 12)
  })

  it('refuses nobody any more when the overload is over', async () => {
    const { enter, events } = await overload()
    useUpTurn()
    for (const name of ['x', 'y']) enter(name)
    await waitFor('both to be begun', () => events.length === 14)
    assert.deepEqual(events.slice(12), ['begins x', 'begins y'])
  })
})

/** Twelve arrivals at once: each that is begun uses up a turn, and the clock goes on by half the limit. */
async function overload () {
  const clock = { now: 0 }
  const line = lineAt(clock, () => {
    useUpTurn()
    clock.now += LIMIT / 2
  })
  useUpTurn()
  for (let count = 0; count < 12; count++) line.enter(String(count))
  await waitFor('the line to be empty', () => line.events.length === 12)
  return line
}

function lineAt (clock: { now: number }, work: () => void = () => {}) {
  const line = new AdmissionQueue(LIMIT, () => clock.now)
  const events: string[] = []
  return {
    events,
    enter (name: string) {
      line.enter({
        begin () {
          events.push(`begins ${name}`)
          work()
        },
        refuse () { events.push(`refuses ${name}`) }
      })
    }
  }
}

/** Works longer than the share of one turn of the event loop. */
function useUpTurn (): void {
  void inTurn(() => {
    const end = performance.now() + 15
    while (performance.now() < end);
  })
}
