import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ANYONE } from '../../../src/access/caller.ts'
import { waysTo } from '../../../src/service/sessions/open-sessions.ts'
import { createPerformer, type Performers } from '../../../src/service/sessions/perform/performer.ts'
import { followChildren } from '../../../src/service/sessions/perform/children.ts'
import { stopOrphan } from '../../../src/service/sessions/rules/orphans.ts'
import { RunningSessions } from '../../../src/service/sessions/running-sessions.ts'
import { childId } from '../../../src/session/child.ts'
import { NO_CIRCUMSTANCES } from '../../../src/session/gate.ts'
import { UNSEALED } from '../../../src/session/seal.ts'
import { waitFor } from '../../helpers/wait-for.ts'
import { memoryStore, SILENT } from '../../session/runners.ts'
import { scripted, SCRIPTED } from '../../session/script-engine.ts'

/** Sessions that start each other, and what tools they have called. */
function serving (t: TestContext) {
  const called: string[] = []
  const store = memoryStore(t)
  const running: RunningSessions = new RunningSessions({
    open: async () => ({ store, engines: SCRIPTED, seals: UNSEALED }),
    isAnyOpen: async () => false,
    mend: async () => {},
    performer: createPerformer({
      performers: {
        async tool ({ effect }: { readonly effect: { readonly tool: string } }) {
          called.push(effect.tool)
          return { kind: 'result', result: null }
        },
        child: followChildren({
          startOf: async ({ session: { id, start }, effect }) => scripted(effect.input.text, {
            owner: start.owner,
            parent: { session: id, effect: effect.id, root: start.parent?.root ?? id, depth: (start.parent?.depth ?? 0) + 1, line: [...start.parent?.line ?? [], { session: id, definition: start.definition }] }
          }),
          use: async work => await running.use(work)
        })
      } as unknown as Performers,
      tools: { isRepeatableTool: () => true },
      callerNamed: () => ANYONE,
      observer: undefined,
      stopOrphan: async session => await running.use(async opened => await stopOrphan(opened, session))
    }),
    circumstances: NO_CIRCUMSTANCES,
    close: async () => {},
    log: SILENT,
    onEnded () {}
  })
  t.after(() => running.close())
  return { ...waysTo(running, () => ['']), called, store, running }
}

describe('A session whose parent has ended', () => {
  const KIND = { name: 'scripts', engines: [{ name: 'script/1' }], start: ({ script }: { readonly script: string }) => scripted(script, { budget: { steps: 1000, tokens: 100_000, idle: 60_000 } }) }

  for (const [title, script, levels] of [['', '@,', 1], [', two above,', '@@,', 2]] as const) {
    it(`${title === '' ? '' : 'or one above that'} does nothing more, though nobody has told it`.trim(), async t => {
      const { called, store, running } = serving(t)
      await running.use(async ({ runner }) => {
        const id = 'a'.repeat(32)
        await runner.start(id, scripted(script, { owner: '', budget: KIND.start({ script: '' }).budget }))
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
