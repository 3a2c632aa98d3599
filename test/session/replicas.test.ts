import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { startOf } from '../../src/session/engine.ts'
import { EngineUnknown, type Engines } from '../../src/session/advance-session.ts'
import { SessionRunner } from '../../src/session/runner.ts'
import { createRedisSessionStore } from '../../src/session/store/redis-session-store.ts'
import { type SessionStore } from '../../src/session/store/session-store.ts'
import { quietLog } from '../helpers/quiet-log.ts'
import { startRedisServer } from '../helpers/redis-server.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { changedStore } from './changed-store.ts'
import { ManualPerformer } from './manual-performer.ts'
import { createRunner, factsOf, heardIn, memoryStore, newId, readAll, until } from './runners.ts'
import { scripted, scriptEngine, SCRIPTED } from './script-engine.ts'
import { NO_LOG } from './store/session-store-variants.ts'

/** In ms. */
const LEASE = 150

const PLACES: ReadonlyArray<[string, (t: TestContext) => Promise<readonly [SessionStore, SessionStore]>]> = [
  ['memory', async t => {
    const store = memoryStore(t)
    return [store, store]
  }],
  ['Redis', async t => {
    const { url, stop } = await startRedisServer()
    t.after(stop)
    const create = () => createRedisSessionStore({ url, keep: 60_000, log: NO_LOG })
    const stores = [create(), create()] as const
    t.after(() => Promise.all(stores.map(store => store.close())))
    return stores
  }]
]

for (const [place, open] of PLACES) {
  describe(`Two replicas over ${place}`, () => {
    /** The first replica renews nothing, as one that is frozen, and its effects end when the test says so. */
    async function pair (t: TestContext) {
      const [store, another] = await open(t)
      const [one, other] = [new ManualPerformer(), new ManualPerformer()]
      return { store, id: newId(), one, other, first: createRunner(t, store, one, LEASE), second: createRunner(t, another, other, LEASE) }
    }

    it('let the second go on when the first is frozen: what may be repeated is begun once more, the rest is unknown', async t => {
      const { store, id, one, other, first, second } = await pair(t)
      await first.start(id, scripted('read a ?m b > after'))
      second.open()
      await waitFor('what may be repeated', () => other.begun.length === 2)
      assert.deepEqual(other.counts, { '1.0': 1, 1.2: 1 })
      assert.deepEqual(await heardIn(second, id), ['1.1 unknown', '1.3 unknown'])
      for (const each of one.begun) each.end({ kind: 'result', result: 'late' })
      for (const each of other.begun) each.end()
      await waitFor('the step after', () => other.begun.length === 3)
      const results = (await readAll(store, id)).flatMap(({ fact }) => fact.kind === 'result' ? [fact.result] : [])
      assert.deepEqual(results.sort(), ['1.0', '1.2'])
      assert.deepEqual(await factsOf(store, id), ['started', 'unknown', 'unknown', 'took', 'result', 'result'])
    })

    it('let another go on at once when an operator takes a session from its driver', async t => {
      const [store, another] = await open(t)
      const [id, one, other] = [newId(), new ManualPerformer(), new ManualPerformer()]
      const [first, second] = [createRunner(t, store, one, 60_000), createRunner(t, another, other, 60_000)]
      first.open()
      await first.start(id, scripted('read'))
      await waitFor('the effect', () => one.begun.length === 1)
      assert.equal(await another.redrive(id), true)
      second.open()
      await waitFor('the effect there', () => other.begun.length === 1)
      other.begun[0]?.end()
      await until(second, id, 'waiting_input')
      await waitFor('the first to give up', () => first.running().size === 0)
    })

    it('count one takeover a session, and none when a session that was left to wait is over', async t => {
      const [store, another] = await open(t)
      const id = newId()
      const taken: string[] = []
      const first = createRunner(t, store, new ManualPerformer(), LEASE)
      const second = new SessionRunner({ store: another, engines: SCRIPTED, performer: new ManualPerformer(), log: NO_LOG, lease: LEASE, onTakeover: session => { taken.push(session.id) } })
      t.after(() => second.close())
      await first.start(id, scripted('read a ?m b > after'))
      const over = scripted('', { budget: { ...scripted('').budget, idle: 1 } })
      await first.start(newId(), over)
      second.open()
      await waitFor('the takeover', () => taken.length > 0 && second.running().size === 1)
      await waitFor('the expired one', async () => (await store.list({ statuses: ['expired'], limit: 9 })).heads.length === 1)
      assert.deepEqual(taken, [id])
    })

    it('go on after a takeover with what the engine asks for when all was unknown', async t => {
      const { id, other, first, second } = await pair(t)
      await first.start(id, scripted('a > b'))
      second.open()
      assert.equal((await other.at(0)).effect.id, '2.0')
    })

    it('let the second go on at once when the first closes', async t => {
      const { store, id, other } = await pair(t)
      const [first, second] = [createRunner(t, store, new ManualPerformer()), createRunner(t, store, other)]
      await first.start(id, scripted('read'))
      await first.close()
      second.open()
      await other.at(0)
      assert.deepEqual(await factsOf(store, id), ['started', 'took'])
    })

    it('let the first keep what it drives while its renewals go on', async t => {
      const { store, id, one, other, first, second } = await pair(t)
      first.open()
      second.open()
      await first.start(id, scripted('a'))
      let renewals = 0
      const { renew } = store
      store.renew = async (...given) => {
        renewals++
        return await renew.apply(store, given)
      }
      await waitFor('more renewals than a lease has', () => renewals > 8)
      one.begun[0]?.end()
      await until(second, id, 'waiting_input')
      assert.deepEqual([other.begun, await factsOf(store, id)], [[], ['started', 'result']])
    })

    it('abort at the first what the second has begun again', async t => {
      const [store, another] = await open(t)
      const [one, other, id] = [new ManualPerformer(), new ManualPerformer(), newId()]
      let isFrozen = true
      const first = createRunner(t, changedStore(store, { renew: async (...given) => isFrozen ? [] : await store.renew(...given), take: async () => ({ ids: [], next: undefined }) }), one, LEASE)
      first.open()
      await first.start(id, scripted('read'))
      createRunner(t, another, other, LEASE).open()
      await other.at(0)
      isFrozen = false
      await waitFor('the abort', () => one.begun[0]?.signal.aborted)
      assert.equal(other.begun[0]?.signal.aborted, false)
    })

    it('take only sessions of their engines, and tell once of one that nobody takes', async t => {
      const [store, another] = await open(t)
      const warned: object[] = []
      const runnerOf = (over: SessionStore, engines: Engines, performer: ManualPerformer) => {
        const made = new SessionRunner({ store: over, engines, performer, lease: LEASE, log: quietLog({ warn: facts => { warned.push(facts) } }) })
        t.after(() => made.close())
        return made
      }
      const newer: Engines = new Map([...SCRIPTED, ['script/2', startOf({ ...scriptEngine, name: 'script/2' })]])
      const [id, old] = [newId(), newId()]
      const first = runnerOf(store, newer, new ManualPerformer())
      await first.start(id, scripted('read', { engine: 'script/2' }))
      await first.start(old, scripted('read'))
      await first.close()
      const [one, other] = [new ManualPerformer(), new ManualPerformer()]
      const second = runnerOf(another, SCRIPTED, one)
      second.open()
      await one.at(0)
      await waitFor('word of the other', () => second.waits().length > 0)
      assert.deepEqual([second.waits(), [...second.unknown()]], [['1 session waits for a process that has the engine script/2'], [['script/2', 1]]])
      await assert.rejects(second.load(id), EngineUnknown)
      runnerOf(store, newer, other).open()
      await other.at(0)
      assert.deepEqual([one.begun, other.begun].map(begun => begun.map(({ session }) => session)), [[old], [id]])
      await waitFor('nothing to wait', () => second.waits().length === 0)
      assert.deepEqual(warned, [{ session: id, engine: 'script/2' }])
    })

    it('take input at either', async t => {
      const { id, store, one, other, first, second } = await pair(t)
      await first.start(id, scripted(''))
      await second.input(id, { id: 'x', by: 'ann', text: 'a' })
      await first.input(id, { id: 'x', by: 'ann', text: 'a' });
      (await other.at(0)).end()
      await until(first, id, 'waiting_input')
      await first.input(id, { id: 'y', by: 'ann', text: 'b' })
      await one.at(0)
      assert.deepEqual([one.begun.length, other.begun.length], [1, 1])
      assert.deepEqual(await factsOf(store, id), ['started', 'input', 'result', 'input'])
    })

    it('count one of two inputs that come at once', async t => {
      const { id, store, one, other, first, second } = await pair(t)
      await first.start(id, scripted(''))
      const outcomes = await Promise.allSettled([first, second].map((runner, n) => runner.input(id, { id: `${n}`, by: 'ann', text: 'a' })))
      assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
      assert.deepEqual([one.begun.length + other.begun.length, await factsOf(store, id)], [1, ['started', 'input']])
    })

    it('begin what was approved at the replica that does not drive at the one that does', async t => {
      const { id, store, one, other, first, second } = await pair(t)
      await first.start(id, scripted('a asked', { ask: ['asked'] }))
      await second.decide(id, '1.1', { by: 'bob', decision: 'approve' })
      assert.equal((await one.at(1)).effect.id, '1.1')
      assert.deepEqual([other.begun, await factsOf(store, id)], [[], ['started', 'decided', 'took']])
    })

    it('begin what was approved at the replica that drives next when the first is gone', async t => {
      const { id, store, one, other, first, second } = await pair(t)
      await first.start(id, scripted('read asked', { ask: ['asked'] }))
      await first.close()
      await second.decide(id, '1.1', { by: 'bob', decision: 'approve' })
      second.open()
      await other.at(1)
      assert.deepEqual([one.counts, other.counts], [{ '1.0': 1 }, { '1.0': 1, 1.1: 1 }])
      assert.deepEqual(await factsOf(store, id), ['started', 'decided', 'took'])
    })

    it('abort at the one that drives what is cancelled at the other', async t => {
      const { id, store, one, first, second } = await pair(t)
      await first.start(id, scripted('a'))
      await second.stop(id, 'cancel', 'enough')
      await waitFor('the abort', () => one.begun[0]?.signal.aborted)
      await first.close()
      assert.deepEqual(await factsOf(store, id), ['started', 'stopped'])
    })
  })
}
