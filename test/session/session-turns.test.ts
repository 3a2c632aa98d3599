import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { SessionRunner } from '../../src/session/runner.ts'
import type { SessionStore } from '../../src/session/store/session-store.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { ManualPerformer } from './manual-performer.ts'
import { createRunner, factsOf, memoryStore, newId, until } from './runners.ts'
import { scripted, SCRIPTED } from './script-engine.ts'
import { NO_LOG } from './store/session-store-variants.ts'

function limited (t: TestContext, store: SessionStore, performer: ManualPerformer, concurrency: number): SessionRunner {
  const runner = new SessionRunner({ store, engines: SCRIPTED, performer, log: NO_LOG, concurrency })
  t.after(() => runner.close())
  return runner
}

describe('A bound of running sessions', () => {
  it('gives owners turns: who has one session waits for one of each other owner, not for all of theirs', async t => {
    const [store, performer] = [memoryStore(t), new ManualPerformer()]
    const runner = limited(t, store, performer, 2)
    const owners = new Map<string, string>()
    const start = async (owner: string) => {
      const id = newId()
      owners.set(id, owner)
      await runner.start(id, scripted('a', { owner }))
    }
    for (let each = 0; each < 10; each++) await start('ann')
    for (let each = 0; each < 2; each++) await start('bob')
    await start('eve')
    assert.deepEqual([performer.begun.length, runner.queued(), runner.waits()], [2, 11, ['11 sessions wait for a turn, since as many run as SESSION_CONCURRENCY allows']])
    let most = 0
    for (let ended = 0; ended < 13; ended++) {
      const performed = await performer.at(ended)
      most = Math.max(most, performer.begun.length - ended)
      performed.end()
      await until(runner, performed.session, 'waiting_input')
    }
    const order = performer.begun.map(({ session }) => owners.get(session))
    assert.equal(most, 2)
    assert.deepEqual(order.slice(0, 8), ['ann', 'ann', 'ann', 'bob', 'eve', 'ann', 'bob', 'ann'])
    assert.deepEqual([order.length, runner.queued()], [13, 0])
  })

  it('counts sessions, not what each does at a time', async t => {
    const [store, performer] = [memoryStore(t), new ManualPerformer()]
    const runner = limited(t, store, performer, 1)
    await runner.start(newId(), scripted('a b c'))
    await runner.start(newId(), scripted('d'))
    assert.deepEqual([performer.begun.length, runner.queued()], [3, 1])
    await runner.close()
  })

  it('never begins what was stopped before its turn', async t => {
    const [store, performer, id] = [memoryStore(t), new ManualPerformer(), newId()]
    const runner = limited(t, store, performer, 1)
    await runner.start(newId(), scripted('a'))
    await runner.start(id, scripted('b'))
    await runner.stop(id, 'cancel', 'enough')
    assert.equal(runner.queued(), 0)
    performer.begun[0]?.end()
    await waitFor('the first to end', () => runner.running().size === 0)
    assert.deepEqual([performer.begun.length, await factsOf(store, id)], [1, ['started', 'stopped']])
  })

  it('leaves what had no turn to the next process, which begins it although it may not be repeated', async t => {
    const [store, one, other, id] = [memoryStore(t), new ManualPerformer(), new ManualPerformer(), newId()]
    const first = limited(t, store, one, 1)
    await first.start(newId(), scripted('read'))
    await first.start(id, scripted('b'))
    await first.close()
    const second = createRunner(t, store, other)
    second.open()
    await waitFor('what had no turn', () => other.begun.some(({ session }) => session === id))
    assert.deepEqual(await factsOf(store, id), ['started', 'took', 'took'])
  })

  it('leaves sessions due that it has no room for, to those that have', async t => {
    const [store, full, free] = [memoryStore(t), new ManualPerformer(), new ManualPerformer()]
    const left = createRunner(t, store, new ManualPerformer())
    const ids = [newId(), newId(), newId()]
    for (const id of ids) await left.start(id, scripted('read'))
    await left.close()
    const runner = limited(t, store, full, 1)
    runner.open()
    await full.at(0)
    assert.equal((await store.tally()).due, 2)
    createRunner(t, store, free).open()
    await waitFor('the others', () => free.begun.length === 2)
    assert.equal(full.begun.length, 1)
  })
})
