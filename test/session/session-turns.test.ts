import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { SessionRunner } from '../../src/session/runner.ts'
import type { Performer } from '../../src/session/effects.ts'
import { createRedisSessionStore } from '../../src/session/store/redis-session-store.ts'
import type { SessionStore } from '../../src/session/store/session-store.ts'
import { startRedisServer } from '../helpers/redis-server.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { ManualPerformer } from './manual-performer.ts'
import { createRunner, factsOf, memoryStore, newId, until } from './runners.ts'
import { scripted, SCRIPTED } from './script-engine.ts'
import { NO_LOG } from './store/session-store-variants.ts'

function limited (t: TestContext, store: SessionStore, performer: ManualPerformer, concurrency?: number, concurrencyOf?: (owner: string) => number | undefined): SessionRunner {
  const runner = new SessionRunner({ store, engines: SCRIPTED, performer, log: NO_LOG, concurrency, concurrencyOf })
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
    assert.deepEqual([performer.begun.length, runner.queued(), runner.waits()], [2, 11, ['11 sessions wait for a turn, since as many run as SESSION_CONCURRENCY or running= of their owner allows']])
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

  it('of one owner leaves the rest of the process to others, and the rest of its sessions to other processes', async t => {
    const [store, one, other] = [memoryStore(t), new ManualPerformer(), new ManualPerformer()]
    const runner = limited(t, store, one, undefined, owner => owner === 'ann' ? 2 : undefined)
    for (let each = 0; each < 3; each++) await runner.start(newId(), scripted('a', { owner: 'ann' }))
    const [left, bobs] = [createRunner(t, store, new ManualPerformer()), newId()]
    await left.start(newId(), scripted('read', { owner: 'ann' }))
    await left.start(bobs, scripted('read', { owner: 'bob' }))
    await left.close()
    runner.open()
    assert.equal((await one.at(2)).session, bobs)
    assert.deepEqual([runner.queued(), (await store.tally()).due], [1, 1])
    createRunner(t, store, other).open()
    await other.at(0)
    one.begun[0]?.end()
    await one.at(3)
    assert.deepEqual([runner.queued(), one.begun.length, other.begun.length], [0, 4, 1])
  })

  it('lets an owner who has one session due go before the next of an owner who has hundreds', async t => {
    const [store, performer] = [memoryStore(t), new ManualPerformer()]
    const left = createRunner(t, store, new ManualPerformer())
    const owners = new Map<string, string>()
    for (const owner of [...Array.from({ length: 300 }, () => 'ann'), 'zoe', 'bob']) {
      const id = newId()
      owners.set(id, owner)
      await left.start(id, scripted('read', { owner }))
    }
    await left.close()
    const runner = limited(t, store, performer, 1)
    runner.open()
    for (let ended = 0; ended < 4; ended++) (await performer.at(ended)).end()
    const order = performer.begun.slice(0, 4).map(({ session }) => owners.get(session))
    assert.deepEqual(order, ['ann', 'bob', 'zoe', 'ann'])
  })

  it('takes what an owner has left who has nothing here, also while another keeps the process full', async t => {
    const [store, performer] = [memoryStore(t), new ManualPerformer()]
    const left = createRunner(t, store, new ManualPerformer())
    const id = newId()
    await left.start(id, scripted('read', { owner: 'bob' }))
    await left.close()
    const runner = limited(t, store, performer, 1)
    for (let each = 0; each < 10; each++) await runner.start(newId(), scripted('a', { owner: 'ann' }))
    runner.open()
    await waitFor('it to be queued', () => runner.queued() === 10)
    performer.begun[0]?.end()
    await performer.at(1)
    performer.begun[1]?.end()
    await performer.at(2)
    assert.equal(performer.begun[2]?.session, id)
    await runner.close()
  })

  it('lets an owner who has a few sessions due go early over two processes and Redis, too', async t => {
    const redis = await startRedisServer()
    t.after(redis.stop)
    const open = () => {
      const store = createRedisSessionStore({ url: redis.url, keep: 60_000, log: NO_LOG })
      t.after(() => store.close())
      return store
    }
    const left = createRunner(t, open(), new ManualPerformer())
    const order: string[] = []
    const performer: Performer = {
      async perform ({ start: { owner } }) {
        order.push(owner)
        return { kind: 'result', result: owner }
      },
      isRepeatable: () => true
    }
    for (let each = 0; each < 100; each++) await left.start(newId(), scripted('read', { owner: 'ann' }))
    for (let each = 0; each < 3; each++) await left.start(newId(), scripted('read', { owner: 'bob' }))
    await left.close()
    const runners = [open(), open()].map(store => new SessionRunner({ store, engines: SCRIPTED, performer, log: NO_LOG, concurrency: 8 }))
    for (const runner of runners) runner.open()
    await waitFor('all to be done', () => order.length === 103)
    for (const runner of runners) await runner.close()
    assert.ok(order.lastIndexOf('bob') < 50, order.join(' '))
  })
})
