import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Caller } from '../../../src/access/caller.ts'
import { changedStore } from '../../session/changed-store.ts'
import { INSTANT } from '../../session/manual-performer.ts'
import { memoryStore } from '../../session/runners.ts'
import { scripted } from '../../session/script-engine.ts'
import { append, newId } from '../../session/store/session-appends.ts'
import { sessionsOver } from './sessions-over.ts'

const ANN = { name: 'ann', roles: new Set(['run']) } as unknown as Caller

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
    const sessions = sessionsOver(t, store, { performer: INSTANT })
    const { id } = await sessions.create(ANN, () => scripted(''))
    assert.deepEqual(await outcomes(Array.from({ length: 60 }, (_, index) => index % 2 === 0 ? sessions.create(ANN, () => scripted('')) : sessions.fork(ANN, id))), { ok: 10, TOO_MANY_SESSIONS: 50 })
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
    const sessions = sessionsOver(t, store, { performer: INSTANT })
    const { id } = await sessions.create(ANN, () => scripted(''))
    await assert.rejects(sessions.fork(ANN, id), { code: 'TOO_MANY_SESSIONS', message: /256 MiB/ })
    copied = 0
    const fork = await sessions.fork(ANN, id)
    assert.equal((await real.head(fork.id))?.copied, (await sessions.use(({ runner }) => runner.load(id)))?.bytes)
  })

  it('starts no session of one kind with the key of another', async t => {
    const sessions = sessionsOver(t, memoryStore(t), { performer: INSTANT })
    const begin = (definition: string) => sessions.create(ANN, () => scripted('', { definition }), 'k')
    const first = await begin('agents/helper')
    assert.equal((await begin('agents/helper')).id, first.id)
    await assert.rejects(begin('plans/default'), { code: 'IDEMPOTENCY_KEY_REUSED', statusCode: 409 })
  })
})
