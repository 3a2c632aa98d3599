import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ANYONE } from '../../../src/access/caller.ts'
import { RightsWatch } from '../../../src/access/rights.ts'
import { createPerformer, type Performers } from '../../../src/service/sessions/performer.ts'
import { followChildren, stopOrphan } from '../../../src/service/sessions/session-tree.ts'
import { type SessionService } from '../../../src/service/sessions/session-service.ts'
import { childId } from '../../../src/session/session.ts'
import { SessionStoreError } from '../../../src/session/store/session-store.ts'
import { changedStore } from '../../session/changed-store.ts'
import { waitFor } from '../../helpers/wait-for.ts'
import { memoryStore, readAll } from '../../session/runners.ts'
import { scripted } from '../../session/script-engine.ts'
import { sessionsOver } from './sessions-over.ts'

/** Sessions that start each other, and what tools they have called. @param store that another replica may have, too */
function serving (t: TestContext, store = memoryStore(t)) {
  const called: string[] = []
  const running: SessionService = sessionsOver(t, store, {
    performer: createPerformer({
      performers: {
        async tool ({ effect }: { readonly effect: { readonly tool: string } }) {
          called.push(effect.tool)
          return { kind: 'result', result: null }
        },
        child: followChildren(
          async ({ session: { id, start }, effect }) => scripted(effect.input.text, {
            owner: start.owner,
            ask: start.ask,
            budget: start.budget,
            parent: { session: id, effect: effect.id, root: start.parent?.root ?? id, depth: (start.parent?.depth ?? 0) + 1, line: [...start.parent?.line ?? [], { session: id, definition: start.definition }] }
          }),
          async work => await running.use(work)
        )
      } as unknown as Performers,
      tools: { isRepeatableTool: () => true },
      rights: new RightsWatch(),
      callerNamed: () => ANYONE,
      observer: undefined,
      stopOrphan: async (session, signal) => await running.use(async opened => await stopOrphan(opened, session, signal))
    })
  })
  return { called, store, running }
}

const BUDGET = { steps: 1000, tokens: 100_000, idle: 60_000 }

describe('A child and two replicas', () => {
  it('are gone on with: it is allowed at one, while the other one waits for it', async t => {
    const one = serving(t)
    const second = serving(t, one.store)
    const id = 'b'.repeat(32)
    const child = childId(id, '1.0')
    await one.running.use(async ({ runner }) => { await runner.start(id, scripted('@erase,end work > end', { owner: '', ask: ['erase'], budget: BUDGET })) })
    await second.running.use(async ({ runner }) => {
      const waiting = await waitFor('the approval', async () => {
        const session = await runner.load(child)
        return session?.status === 'waiting_approval' ? runner.approvals(session)[0] : undefined
      })
      await runner.decide(child, waiting.effect, { by: '', decision: 'approve', digest: waiting.digest })
      await waitFor('the end', async () => (await runner.load(id))?.status === 'completed')
    })
    assert.deepEqual([one.called, second.called], [['work'], ['erase']])
  })

  it('are gone on with: the next one finds the child that the first has started', async t => {
    const one = serving(t)
    const id = 'c'.repeat(32)
    const child = childId(id, '1.0')
    await one.running.use(async ({ runner }) => {
      await runner.start(id, scripted('@, > end', { owner: '', budget: BUDGET }))
      await waitFor('the child to wait', async () => (await runner.load(child))?.status === 'waiting_input')
    })
    await one.running.close()
    const second = serving(t, one.store)
    await second.running.use(async ({ runner }) => {
      await waitFor('it to be taken', async () => (await runner.load(id))?.open.get('1.0')?.isAgain === true)
      await runner.input(child, { id: 'i', by: '', text: 'end' })
      await waitFor('the end', async () => (await runner.load(id))?.status === 'completed')
      const began = (await readAll(one.store, child)).filter(({ fact }) => fact.kind === 'started')
      assert.equal(began.length, 1)
    })
  })
})

describe('A store that cannot be reached for a while', () => {
  it('is no end of a child', async t => {
    let isGone = false
    const real = memoryStore(t)
    const store = changedStore(real, {
      async * read (id, after) {
        if (isGone) throw new SessionStoreError('it is gone')
        yield * real.read(id, after)
      },
      async head (id) {
        if (isGone) throw new SessionStoreError('it is gone')
        return await real.head(id)
      }
    })
    const { running, called } = serving(t, store)
    await running.use(async ({ runner }) => {
      const id = 'd'.repeat(32)
      const child = childId(id, '1.0')
      await runner.start(id, scripted('@, last > end', { owner: '', budget: BUDGET }))
      await waitFor('the child to wait', async () => (await runner.load(child))?.status === 'waiting_input')
      isGone = true
      const said = runner.input(child, { id: 'i', by: '', text: 'work > end' })
      await new Promise(setImmediate)
      isGone = false
      await said
      await waitFor('the end', async () => (await runner.load(id))?.status === 'completed')
    })
    assert.deepEqual(called.sort(), ['last', 'work'])
  })
})

describe('A session whose parent has ended', () => {
  for (const [title, script, levels] of [['does nothing more, though nobody has told it', '@,', 1], ['is one of many: what is two below one that has ended does nothing more', '@@,', 2]] as const) {
    it(title, async t => {
      const { called, store, running } = serving(t)
      await running.use(async ({ runner }) => {
        const id = 'a'.repeat(32)
        await runner.start(id, scripted(script, { owner: '', budget: BUDGET }))
        let last = id
        for (let level = 0; level < levels; level++) {
          last = childId(last, '1.0')
          await waitFor('the child', async () => await runner.load(last))
        }
        await waitFor('it to wait', async () => (await runner.load(last))?.status === 'waiting_input')
        // As a crash in the middle of a cancel leaves it: the one at the top has ended, and none below.
        const head = await store.head(id)
        assert.ok(head !== undefined)
        const transition = { seq: head.seq + 1, at: 1, token: 'x', by: 'x', fact: { kind: 'stopped', by: 'cancel', reason: '' }, begun: [], held: [], denied: [], notices: [] } as const
        await store.append({ id, after: head, transition, entry: { seq: transition.seq, text: JSON.stringify(transition), seal: '' }, head: { ...head, seq: transition.seq, token: 'x', status: 'cancelled', driver: undefined }, due: 'never' })
        await runner.input(last, { id: 'i', by: '', text: 'work' })
        await waitFor('it to be stopped', async () => (await runner.load(last))?.status === 'cancelled')
      })
      assert.deepEqual(called, [])
    })
  }
})
