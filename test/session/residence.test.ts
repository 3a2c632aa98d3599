import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createRedisSessionStore } from '../../src/session/store/redis-session-store.ts'
import { SessionRunner } from '../../src/session/runner.ts'
import { type SessionStore } from '../../src/session/store/session-store.ts'
import { startRedisServer } from '../helpers/redis-server.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { changedStore } from './changed-store.ts'
import { ManualPerformer } from './manual-performer.ts'
import { factsOf, memoryStore, newId, SILENT } from './runners.ts'
import { SCRIPTED, scripted } from './script-engine.ts'
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
  describe(`A session in a terminal, over ${place}`, () => {
    /** A terminal at the first of two replicas; its session is a scripted one that does not end. */
    async function pair (t: TestContext) {
      const given: string[] = []
      const stores = (await open(t)).map(store => changedStore(store, {
        async renew (by, ids, lease) {
          given.push(...ids)
          return await store.renew(by, ids, lease)
        }
      })) as [SessionStore, SessionStore]
      const terminal = newId()
      const held = new Set([terminal])
      const [here, there] = [new ManualPerformer(), new ManualPerformer()]
      const runner = (store: SessionStore, performer: ManualPerformer, terminals: ReadonlySet<string>): SessionRunner => {
        const made = new SessionRunner({ store, engines: SCRIPTED, performer, log: SILENT, lease: LEASE, terminals })
        t.after(() => made.close())
        made.open()
        return made
      }
      const [first, second] = [runner(stores[0], here, held), runner(stores[1], there, new Set())]
      await first.start(terminal, scripted('shell > end'))
      await here.at(0)
      return { store: stores[0], terminal, held, here, there, given, first, second }
    }

    it('is driven where the terminal is, though another replica has started it', async t => {
      const { terminal, here, there, second } = await pair(t)
      const id = newId()
      await second.start(id, { ...scripted('a > b > end'), terminal })
      ;(await here.at(1)).end()
      ;(await here.at(2)).end()
      await waitFor('the end', async () => (await second.load(id))?.status === 'completed')
      assert.deepEqual(there.counts, {})
    })

    it('goes on there within a second when something was allowed at the other one', async t => {
      const { terminal, here, there, first, second } = await pair(t)
      const id = newId()
      await second.start(id, { ...scripted('m > end'), terminal, ask: ['m'] })
      await waitFor('the question', async () => (await second.load(id))?.status === 'waiting_approval')
      // Word of the start may have come by the lease alone: from here on it is watched.
      await waitFor('the session to be known there', async () => (await first.load(id))?.status === 'waiting_approval')
      const since = performance.now()
      await second.decide(id, '1.0', { by: 'bob', decision: 'approve' })
      const begun = await waitFor('what was allowed', () => here.begun.find(({ session }) => session === id))
      assert.ok(performance.now() - since < 1000)
      begun.end()
      assert.deepEqual(there.counts, {})
    })

    it('is driven by whoever comes first when the terminal has ended', async t => {
      const { store, terminal, held, here, there, second } = await pair(t)
      held.clear()
      here.begun[0]?.end()
      await waitFor('the end of the terminal', async () => (await second.load(terminal))?.status === 'completed')
      const id = newId()
      await second.start(id, { ...scripted('a > end'), terminal })
      ;(await there.at(0)).end()
      await waitFor('the end', async () => (await second.load(id))?.status === 'completed')
      assert.deepEqual(await factsOf(store, id), ['started', 'result'])
    })

    it('is given back by every replica that takes it and does not hold the terminal, until the one that does takes it', async t => {
      const { terminal, held, here, there, given, second } = await pair(t)
      held.clear()
      const id = newId()
      await second.start(id, { ...scripted('a > end'), terminal })
      await waitFor('it to be given back twice', () => given.filter(each => each === id).length >= 2)
      held.add(terminal)
      ;(await here.at(1)).end()
      await waitFor('the end', async () => (await second.load(id))?.status === 'completed')
      assert.deepEqual(there.counts, {})
    })
  })

  describe(`A session with a disk, over ${place}`, () => {
    const disk = { id: newId(), name: 'first' }

    /** Two replicas; the first one has the disk. */
    async function pair (t: TestContext) {
      const stores = await open(t)
      const [here, there] = [new ManualPerformer(), new ManualPerformer()]
      const held = new Set([disk.id])
      const runner = (store: SessionStore, performer: ManualPerformer, disks: ReadonlySet<string>): SessionRunner => {
        const made = new SessionRunner({ store, engines: SCRIPTED, performer, log: SILENT, lease: LEASE, disks: { has: id => disks.has(id), ids: () => [...disks] } })
        t.after(() => made.close())
        made.open()
        return made
      }
      return { store: stores[0], held, here, there, first: runner(stores[0], here, held), second: runner(stores[1], there, new Set()) }
    }

    it('is driven where the disk is, and hears at once what is said to it elsewhere', async t => {
      const { here, there, first, second } = await pair(t)
      const id = newId()
      await first.start(id, { ...scripted('a'), disk })
      ;(await here.at(0)).end()
      await waitFor('it to wait', async () => (await second.load(id))?.status === 'waiting_input')
      await second.input(id, { id: 'i', by: 'ann', text: 'b > end' })
      ;(await here.at(1)).end()
      await waitFor('the end', async () => (await second.load(id))?.status === 'completed')
      assert.deepEqual(there.counts, {})
    })

    it('waits for a process that has the disk, and says so, until one comes', async t => {
      const { held, here, there, second } = await pair(t)
      held.clear()
      const id = newId()
      await second.start(id, { ...scripted('a > end'), disk })
      assert.deepEqual(await waitFor('the other one to say so', () => second.waits().length > 0 ? second.waits() : undefined), ['1 session waits for a process that has the disk "first"'])
      held.add(disk.id)
      ;(await here.at(0)).end()
      await waitFor('the end', async () => (await second.load(id))?.status === 'completed')
      assert.deepEqual(there.counts, {})
    })

    it('expires when nobody who has the disk comes in time', async t => {
      const { held, here, there, second } = await pair(t)
      held.clear()
      const id = newId()
      await second.start(id, { ...scripted('a > end', { budget: { steps: 10, tokens: 10, idle: 1 } }), disk })
      await waitFor('the end', async () => (await second.load(id))?.status === 'expired')
      assert.deepEqual([here.counts, there.counts], [{}, {}])
    })
  })
}
