import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { stringifyJson } from '../../src/base/json.ts'
import { type Log } from '../../src/runtime/telemetry.ts'
import { forkSession } from '../../src/session/fork.ts'
import { type Head, type LogPosition, type LogEntry } from '../../src/session/model.ts'
import { SessionRunner } from '../../src/session/runner.ts'
import { createSeals, LogUntrusted, type Seals, UNSEALED } from '../../src/session/session-log.ts'
import { type StoredLogEntry, type SessionStore } from '../../src/session/store/session-store.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { changedStore } from './changed-store.ts'
import { ManualPerformer } from './manual-performer.ts'
import { memoryStore, newId, readAll, SILENT } from './runners.ts'
import { scripted, SCRIPTED } from './script-engine.ts'

const [OLD, NEW] = ['old'.repeat(12), 'new'.repeat(12)]
const ID = 'a'.repeat(32)

describe('A seal', () => {
  const seals = createSeals([OLD])
  const unsealed = { seq: 2, text: '{"seq":2}' }
  const entry: StoredLogEntry = { ...unsealed, seal: seals.sealOf(ID, 'one', unsealed) }

  it('is of one session, number, transition before and text', () => {
    assert.equal(seals.isGenuine(ID, 'one', entry), true)
    assert.equal(seals.isGenuine('b'.repeat(32), 'one', entry), false)
    assert.equal(seals.isGenuine(ID, 'two', entry), false)
    assert.equal(seals.isGenuine(ID, 'one', { ...entry, seq: 3 }), false)
    assert.equal(seals.isGenuine(ID, 'one', { ...entry, text: '{"seq": 2}' }), false)
  })

  it('is no other text', () => {
    for (const seal of ['', 'x', `${entry.seal}A`, entry.seal.slice(1), '='.repeat(43)]) assert.equal(seals.isGenuine(ID, 'one', { ...entry, seal }), false, seal)
  })

  it('holds while another secret takes the place of its own, and no longer', () => {
    assert.equal(createSeals([NEW, OLD]).isGenuine(ID, 'one', entry), true)
    assert.equal(createSeals([NEW]).isGenuine(ID, 'one', entry), false)
    assert.equal(createSeals([NEW, OLD]).sealOf(ID, 'one', unsealed), createSeals([NEW]).sealOf(ID, 'one', unsealed))
  })

  it('is asked for where there is a secret only', () => {
    assert.equal(createSeals([]), UNSEALED)
    assert.equal(UNSEALED.isGenuine(ID, 'one', { ...entry, seal: '' }), true)
  })
})

describe('A session whose log is sealed', () => {
  it('runs, is read by a process that knows nothing of it, and is forked', async t => {
    const { store, id, runnerOf } = await waiting(t)
    const later = runnerOf(createSeals([NEW, OLD]))
    await later.runner.decide(id, '1.0', { by: 'bob', decision: 'approve' })
    await later.performer.at(0)
    const copy = newId()
    await later.runner.stop(id, 'cancel', 'enough')
    const asking = newId()
    await later.runner.start(asking, scripted(''))
    await forkSession({ store, engines: SCRIPTED, seals: createSeals([NEW]), from: asking, to: copy, owner: 'bob', by: 'bob' })
    assert.equal((await runnerOf(createSeals([NEW])).runner.load(copy))?.status, 'waiting_input')
  })

  for (const [what, forge] of FORGERIES()) {
    it(`does nothing when ${what}`, async t => {
      const { store, id, runnerOf } = await waiting(t)
      await forge(store, id)
      for (const { runner, performer, errors } of [runnerOf(createSeals([OLD])), runnerOf(createSeals([OLD]))]) {
        runner.open()
        assert.equal((await runner.load(id))?.status, 'failed')
        await assert.rejects(runner.decide(id, '1.0', { by: 'bob', decision: 'approve', digest: 'x' }), { code: 'SESSION_ENDED' })
        await assert.rejects(runner.input(id, { id: 'x', by: 'ann', text: 'a' }), { code: 'SESSION_ENDED' })
        assert.deepEqual(performer.begun, [])
        assert.deepEqual(errors, ['LOG_UNTRUSTED'])
      }
      assert.equal((await store.head(id))?.status, 'failed')
      const [last] = (await entriesOf(store, id)).slice(-1)
      assert.deepEqual((JSON.parse(last?.text ?? '') as LogEntry).notices.map(({ data }) => data['code'] ?? data['status']), ['LOG_UNTRUSTED', 'failed'])
    })
  }

  it('is listed, and is failed for its owner, in a process that has only a new secret', async t => {
    const { store, id, runnerOf } = await waiting(t)
    const { runner, performer, errors } = runnerOf(createSeals([NEW]))
    runner.open()
    const owner = (await store.head(id))?.owner
    assert.equal(await runner.ownerOf(id), owner)
    const session = await runner.load(id)
    assert.deepEqual([session?.status, session?.start.owner, session?.open.size], ['failed', owner, 0])
    await assert.rejects(runner.decide(id, '1.0', { by: 'bob', decision: 'approve' }), { code: 'SESSION_ENDED' })
    assert.deepEqual((await store.list({ limit: 10 })).heads.map(head => [head.id, head.status]), [[id, 'failed']])
    assert.deepEqual([performer.begun, errors], [[], ['LOG_UNTRUSTED']])
    const [last] = (await entriesOf(store, id)).slice(-1)
    assert.deepEqual((JSON.parse(last?.text ?? '') as LogEntry).notices.map(({ data }) => data['code'] ?? data['status']), ['LOG_UNTRUSTED', 'failed'])
  })

  it('stops at once in the process that drives it', async t => {
    const { store, id, runnerOf } = await waiting(t)
    const { runner, performer } = runnerOf(createSeals([OLD]))
    await runner.decide(id, '1.0', { by: 'bob', decision: 'approve' })
    const { signal } = await performer.at(0)
    await decision(store, id)
    assert.equal((await runner.load(id))?.status, 'failed')
    await runner.decide(id, '1.0', { by: 'bob', decision: 'approve' })
    assert.equal(signal.aborted, true)
  })

  it('runs no command again when its end is taken out of the log', async t => {
    const { store, id, runnerOf } = await waiting(t)
    let isCut = false
    const written: string[] = []
    const cut = changedStore(store, {
      async * read (of, after) { for await (const page of store.read(of, after)) yield page.filter(({ seq }) => !isCut || of !== id || seq <= 2) },
      async head (of) {
        const head = await store.head(of)
        return isCut && of === id && head !== undefined ? { ...head, driver: (await readAll(store, id))[1]?.by } : head
      },
      async append (append) {
        if (!isCut || append.id !== id) return await store.append(append)
        written.push(append.transition.fact.kind)
        return 'ok'
      },
      take: async (...given) => isCut ? { ids: [id], next: undefined } : await store.take(...given)
    })
    const { runner, performer } = runnerOf(createSeals([OLD]), cut)
    await runner.decide(id, '1.0', { by: 'bob', decision: 'approve' });
    (await performer.at(0)).end()
    await waitFor('the end of the command', async () => (await runner.load(id))?.status === 'waiting_input')
    // Others push it out of memory.
    for (let count = 0; count < 1000; count++) await runner.start(newId(), scripted(''))
    isCut = true
    runner.open()
    await waitFor('the session to go on', () => written.length > 0)
    assert.deepEqual([written[0], performer.begun.length], ['unknown', 1])
  })

  it('is forked by nobody when somebody else has written to it', async t => {
    const { store, id } = await waiting(t)
    await decision(store, id)
    await assert.rejects(forkSession({ store, engines: SCRIPTED, seals: createSeals([OLD]), from: id, to: newId(), owner: 'bob', by: 'bob' }), LogUntrusted)
  })
})

/** A session that waits for the approval of a command, and runners of it. */
async function waiting (t: TestContext) {
  const [store, id] = [memoryStore(t), newId()]
  const runnerOf = (seals: Seals, over = store) => {
    const [performer, errors] = [new ManualPerformer(), [] as unknown[]]
    const log = { ...SILENT as Log, error: (fields: object) => { errors.push((fields as Record<string, unknown>)['code']) } }
    const runner = new SessionRunner({ store: over, engines: SCRIPTED, seals, performer, log })
    t.after(() => runner.close())
    return { runner, performer, errors }
  }
  await runnerOf(createSeals([OLD])).runner.start(id, scripted('$reboot'))
  return { store, id, runnerOf }
}

/** Appends what a stranger has written. */
async function forgeEntry (store: SessionStore, id: string, change: Partial<LogEntry>, sealOf: (entry: Omit<StoredLogEntry, 'seal'>, before: LogPosition) => string): Promise<void> {
  const head = await store.head(id) as Head
  const [seq, token] = [head.seq + 1, newId()]
  const transition: LogEntry = { seq, at: Date.now(), token, by: 'stranger', fact: { kind: 'took', repeats: [] }, begun: [], held: [], denied: [], notices: [], ...change }
  const unsealed = { seq, text: stringifyJson(transition) }
  const outcome = await store.append({ id, after: { seq: head.seq, token: head.token }, transition, entry: { ...unsealed, seal: sealOf(unsealed, head) }, head: { ...head, seq, token }, due: 0 })
  assert.equal(outcome, 'ok')
}

const DECIDED: Partial<LogEntry> = { fact: { kind: 'decided', effect: '1.0', by: 'bob', decision: 'approve' } }

async function decision (store: SessionStore, id: string): Promise<void> {
  await forgeEntry(store, id, DECIDED, () => '')
}

function FORGERIES (): ReadonlyArray<readonly [string, (store: SessionStore, id: string) => Promise<void>]> {
  return [
    ['a stranger appends a decision', decision],
    ['the decision has the seal of another secret', (store, id) => forgeEntry(store, id, DECIDED, (entry, { token }) => createSeals([NEW]).sealOf(id, token, entry))],
    ['the decision has the seal of another session', (store, id) => forgeEntry(store, id, DECIDED, (entry, { token }) => createSeals([OLD]).sealOf(newId(), token, entry))],
    ['the decision has the seal of what it follows', async (store, id) => {
      const [first] = await entriesOf(store, id)
      await forgeEntry(store, id, DECIDED, () => (first as StoredLogEntry).seal)
    }],
    ['the transition is no JSON', async (store, id) => {
      const head = await store.head(id) as Head
      const [seq, token] = [head.seq + 1, newId()]
      await store.append({ id, after: head, transition: { seq, token } as LogEntry, entry: { seq, text: '{', seal: '' }, head: { ...head, seq, token }, due: 0 })
    }]
  ]
}

async function entriesOf (store: SessionStore, id: string): Promise<StoredLogEntry[]> {
  const entries: StoredLogEntry[] = []
  for await (const page of store.read(id, 0)) entries.push(...page)
  return entries
}
