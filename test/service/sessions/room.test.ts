import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type Caller } from '../../../src/access/caller.ts'
import { RunningSessions } from '../../../src/service/sessions/running-sessions.ts'
import { SessionStarts } from '../../../src/service/sessions/sessions.ts'
import { UNSEALED } from '../../../src/session/session-log.ts'
import { type SessionStore } from '../../../src/session/store/session-store.ts'
import { changedStore } from '../../session/changed-store.ts'
import { INSTANT } from '../../session/manual-performer.ts'
import { memoryStore, SILENT } from '../../session/runners.ts'
import { NO_POLICY_CONTEXT } from '../../../src/session/gate.ts'
import { scripted, SCRIPTED } from '../../session/script-engine.ts'
import { append, newId } from '../../session/store/session-appends.ts'

const ANN = { name: 'ann', roles: new Set(['run']) } as unknown as Caller

function startsOver (t: TestContext, store: SessionStore): { readonly running: RunningSessions, readonly starts: SessionStarts } {
  const running = new RunningSessions({ open: async () => ({ store, engines: SCRIPTED, seals: UNSEALED }), isAnyOpen: async () => false, mend: async () => {}, performer: INSTANT, circumstances: NO_POLICY_CONTEXT, close: async () => {}, log: SILENT, onEnded () {} })
  t.after(() => running.close())
  return { running, starts: new SessionStarts(running) }
}

async function outcomes (promises: ReadonlyArray<Promise<unknown>>): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const settled of await Promise.allSettled(promises)) {
    const outcome = settled.status === 'fulfilled' ? 'ok' : (settled.reason as { readonly code: string }).code
    counts[outcome] = (counts[outcome] ?? 0) + 1
  }
  return counts
}

describe('A caller', () => {
  it('has a thousand open sessions, also with 60 starts and forks at a time', async t => {
    const store = memoryStore(t)
    for (let count = 0; count < 989; count++) await append(store, newId())
    const { starts } = startsOver(t, store)
    const { id } = await starts.start(ANN, () => scripted(''))
    assert.deepEqual(await outcomes(Array.from({ length: 60 }, (_, index) => index % 2 === 0 ? starts.start(ANN, () => scripted('')) : starts.fork(ANN, id))), { ok: 10, TOO_MANY_SESSIONS: 50 })
    assert.equal(await store.countOpen('ann'), 1000)
  })

  it('has 256 MiB in forks among the last of its sessions', async t => {
    const real = memoryStore(t)
    let copied = 256 * 1024 * 1024 - 100
    const store = changedStore(real, {
      async list (query) {
        const { heads, next } = await real.list(query)
        return { heads: heads.map(head => head.copied === undefined ? { ...head, copied } : head), next }
      }
    })
    const { running, starts } = startsOver(t, store)
    const { id } = await starts.start(ANN, () => scripted(''))
    await assert.rejects(starts.fork(ANN, id), { code: 'TOO_MANY_SESSIONS', message: /256 MiB/ })
    copied = 0
    const fork = await starts.fork(ANN, id)
    assert.equal((await real.head(fork.id))?.copied, (await running.use(({ runner }) => runner.load(id)))?.bytes)
  })

  it('starts no session of one kind with the key of another', async t => {
    const { starts } = startsOver(t, memoryStore(t))
    const begin = (definition: string) => starts.start(ANN, () => scripted('', { definition }), 'k')
    const first = await begin('agents/helper')
    assert.equal((await begin('agents/helper')).id, first.id)
    await assert.rejects(begin('plans/default'), { code: 'IDEMPOTENCY_KEY_REUSED', statusCode: 409 })
  })
})
