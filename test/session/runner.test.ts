import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { approvalDigest } from '../../src/session/approvals.ts'
import { startOf } from '../../src/session/engine.ts'
import { forkSession, NothingToFork } from '../../src/session/fork.ts'
import { type Effect } from '../../src/session/model.ts'
import { type Performer } from '../../src/session/effects.ts'
import { SessionRunner } from '../../src/session/runner.ts'
import { UNSEALED } from '../../src/session/session-log.ts'
import { SessionStoreError } from '../../src/session/store/session-store.ts'
import { quietLog } from '../helpers/quiet-log.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { changedStore, failingStore } from './changed-store.ts'
import { INSTANT, ManualPerformer } from './manual-performer.ts'
import { createRunner, factsOf, heardIn, memoryStore, newId, readAll, SILENT, until } from './runners.ts'
import { scripted, SCRIPTED, scriptEngine } from './script-engine.ts'

const code = (expected: string) => (error: { code?: string }) => error.code === expected
const say = (text: string, id = text) => ({ id, by: 'ann', text })

describe('A runner', () => {
  it('begins effects side by side, and writes each end as it comes', async t => {
    const [store, performer, id] = [memoryStore(t), new ManualPerformer(), newId()]
    const runner = createRunner(t, store, performer)
    await runner.start(id, scripted('a b ?c > end'))
    assert.deepEqual(performer.begun.map(({ effect }) => effect.id), ['1.0', '1.1', '1.2'])
    for (const n of [2, 0, 1]) (await performer.at(n)).end()
    await until(runner, id, 'completed')
    assert.deepEqual(await heardIn(runner, id), ['1.2 result', '1.0 result', '1.1 result'])
    assert.equal((await store.head(id))?.driver, undefined)
  })

  it('goes on at once when nobody knows how an effect ended', async t => {
    const [store, performer, id] = [memoryStore(t), new ManualPerformer(), newId()]
    const runner = createRunner(t, store, performer)
    await runner.start(id, scripted('a > b > end'));
    (await performer.at(0)).end({ kind: 'unknown' });
    (await performer.at(1)).end()
    await until(runner, id, 'completed')
    assert.deepEqual(await factsOf(store, id), ['started', 'unknown', 'result'])
  })

  it('starts a session of one id once', async t => {
    const [store, performer, id] = [memoryStore(t), new ManualPerformer(), newId()]
    const runner = createRunner(t, store, performer)
    await Promise.all([runner.start(id, scripted('a')), runner.start(id, scripted('a'))])
    await runner.start(id, scripted('b'))
    assert.deepEqual(performer.counts, { '1.0': 1 })
  })

  it('takes input while the session waits, and refuses it while it runs, after its end, and of none', async t => {
    const [performer, id] = [new ManualPerformer(), newId()]
    const runner = createRunner(t, memoryStore(t), performer)
    await runner.start(id, scripted(''))
    await runner.input(id, say('a > end'))
    await assert.rejects(runner.input(id, say('b')), code('SESSION_BUSY'))
    performer.begun[0]?.end()
    await until(runner, id, 'completed')
    await assert.rejects(runner.input(id, say('b')), code('SESSION_ENDED'))
    await assert.rejects(runner.input(newId(), say('b')), code('SESSION_NOT_FOUND'))
  })

  it('counts an input once that is sent twice', async t => {
    const [store, id] = [memoryStore(t), newId()]
    const runner = createRunner(t, store, INSTANT)
    await runner.start(id, scripted(''))
    await Promise.all([runner.input(id, say('a', 'one')), runner.input(id, say('a', 'one'))])
    await until(runner, id, 'waiting_input')
    await runner.input(id, say('a', 'one'))
    assert.deepEqual(await factsOf(store, id), ['started', 'input', 'result'])
  })

  it('writes nothing of an input that its engine does not take', async t => {
    const [store, id] = [memoryStore(t), newId()]
    const runner = createRunner(t, store, INSTANT)
    await runner.start(id, scripted(''))
    const act = (name: string, text: string) => runner.input(id, { ...say(''), action: { name, data: { text } } })
    await assert.rejects(act('undo', ''), { code: 'SESSION_BUSY', message: `Session "${id}" does not take that now: it waits for no undo` })
    await assert.rejects(act('script', ''), { code: 'REQUEST_INVALID', message: 'data.text: expected a script, got nothing' })
    await act('script', 'a')
    await until(runner, id, 'waiting_input')
    assert.deepEqual(await factsOf(store, id), ['started', 'input', 'result'])
  })

  it('takes no approval of anything but what is held', async t => {
    const [store, performer, id] = [memoryStore(t), new ManualPerformer(), newId()]
    const runner = createRunner(t, store, performer)
    const { open } = await runner.start(id, scripted('$ls'))
    const answer = { by: 'bob', decision: 'approve' } as const
    await assert.rejects(runner.decide(id, '1.0', { ...answer, digest: 'of something else' }), { code: 'APPROVAL_OUTDATED' })
    await runner.decide(id, '1.0', { ...answer, digest: approvalDigest(id, open.get('1.0')?.effect as Effect, {}) })
    assert.equal((await performer.at(0)).effect.id, '1.0')
  })

  it('is not cancelled in the moment in which files are written', async t => {
    const [store, performer, id] = [memoryStore(t), new ManualPerformer(), newId()]
    const runner = createRunner(t, store, performer)
    await runner.start(id, scripted('apply > write'))
    await assert.rejects(runner.stop(id, 'cancel', ''), { code: 'SESSION_BUSY' })
    performer.begun[0]?.end()
    await until(runner, id, 'waiting_input')
    assert.equal((await runner.stop(id, 'cancel', '')).status, 'cancelled')
  })

  it('aborts what runs when a session is cancelled, and writes nothing after it', async t => {
    const [store, performer, id] = [memoryStore(t), new ManualPerformer(), newId()]
    const runner = createRunner(t, store, performer)
    await runner.start(id, scripted('a b'))
    assert.equal((await runner.stop(id, 'cancel', 'enough')).status, 'cancelled')
    assert.deepEqual(performer.begun.map(({ signal }) => signal.aborted), [true, true])
    performer.begun[0]?.end()
    await runner.stop(id, 'cancel', 'again')
    await runner.close()
    assert.deepEqual(await factsOf(store, id), ['started', 'stopped'])
  })

  it('writes behind its end what was ended with it and is not confirmed to have ended', async t => {
    const [store, performer, id] = [memoryStore(t), new ManualPerformer(), newId()]
    const [ended, warned]: [string[], unknown[]] = [[], []]
    const unconfirmed: Performer = {
      isRepeatable: effect => performer.isRepeatable(effect),
      async perform (session, effect, signal) {
        await performer.perform(session, effect, signal)
        return effect.id === '1.0' ? { kind: 'unknown' } : { kind: 'failure', code: 'ABORTED', message: '' }
      }
    }
    const runner = new SessionRunner({ store, engines: SCRIPTED, performer: unconfirmed, log: quietLog({ warn: facts => { warned.push(facts) } }), onEnded: ({ status }) => { ended.push(status) } })
    t.after(() => runner.close())
    await runner.start(id, scripted('a b'))
    await performer.at(1)
    await runner.stop(id, 'cancel', 'enough')
    await waitFor('the word of it', async () => (await readAll(store, id)).length === 3)
    const [, , last] = await readAll(store, id)
    assert.deepEqual([last?.fact, last?.notices], [{ kind: 'unknown', effect: '1.0' }, [{ type: 'error', data: { code: 'END_NOT_CONFIRMED', effect: '1.0', message: 'it was ended with the session, and nobody has confirmed that: it may run on' } }]])
    assert.deepEqual(warned, [{ session: id, effect: '1.0', kind: 'tool', target: undefined }])
    const again = createRunner(t, store, performer)
    assert.deepEqual([(await again.load(id))?.status, (await runner.load(id))?.status, ended], ['cancelled', 'cancelled', ['cancelled']])
  })

  it('takes a performer that throws for an effect that failed', async t => {
    const id = newId()
    const runner = createRunner(t, memoryStore(t), { ...INSTANT, perform () { throw new Error('broken') } })
    await runner.start(id, scripted('a'))
    await until(runner, id, 'waiting_input')
    assert.deepEqual(await heardIn(runner, id), ['1.0 failure'])
  })

  it('ends a session whose engine fails', async t => {
    const [store, id] = [memoryStore(t), newId()]
    const engines = new Map([['script/1', startOf({ ...scriptEngine, next: (state, fact, moment) => fact.kind === 'result' ? assert.fail('broken') : scriptEngine.next(state, fact, moment) })]])
    const runner = new SessionRunner({ store, engines, performer: INSTANT, log: SILENT })
    t.after(() => runner.close())
    await runner.start(id, scripted('a'))
    await waitFor('the end', async () => (await store.head(id))?.status === 'failed')
    assert.deepEqual(await factsOf(store, id), ['started', 'stopped'])
  })

  it('names itself as the driver while something runs, and nobody while the session waits', async t => {
    const [store, performer, id] = [memoryStore(t), new ManualPerformer(), newId()]
    const runner = createRunner(t, store, performer)
    await runner.start(id, scripted('a'))
    assert.notEqual((await store.head(id))?.driver, undefined)
    performer.begun[0]?.end()
    await until(runner, id, 'waiting_input')
    assert.equal((await store.head(id))?.driver, undefined)
  })

  it('ends a session that has waited too long', async t => {
    const [store, id] = [memoryStore(t), newId()]
    const budget = { steps: 1, tokens: 1, idle: 30 }
    await createRunner(t, store, INSTANT).start(id, scripted('', { budget }))
    const runner = createRunner(t, store, INSTANT)
    runner.open()
    await until(runner, id, 'expired')
    assert.deepEqual(await factsOf(store, id), ['started', 'stopped'])
  })

  it('leaves a session alone that was taken before it has waited too long', async t => {
    const [store, id] = [memoryStore(t), newId()]
    await createRunner(t, store, INSTANT).start(id, scripted(''))
    // As if its clock were a minute ahead.
    const early = changedStore(store, { take: async (by, limit, lease) => ({ ids: (await store.head(id))?.driver === by ? [] : [id], next: limit + lease }) })
    createRunner(t, early, INSTANT).open()
    const runner = createRunner(t, store, INSTANT)
    await runner.input(id, say('a'))
    await until(runner, id, 'waiting_input')
    assert.deepEqual(await factsOf(store, id), ['started', 'input', 'result'])
  })

  for (const [decision, facts, heard] of [['approve', ['started', 'decided', 'result'], '1.0 result'], ['reject', ['started', 'decided'], '1.0 refused']] as const) {
    it(`takes the first of two decisions, here to ${decision}`, async t => {
      const [store, id] = [memoryStore(t), newId()]
      const runner = createRunner(t, store, INSTANT)
      const { status } = await runner.start(id, scripted('asked', { ask: ['asked'] }))
      assert.equal(status, 'waiting_approval')
      const [, second] = await Promise.allSettled([runner.decide(id, '1.0', { by: 'bob', decision }), runner.decide(id, '1.0', { by: 'eve', decision: decision === 'approve' ? 'reject' : 'approve' })])
      await until(runner, id, 'waiting_input')
      assert.equal(second.status === 'rejected' && (second.reason as { code: string }).code, 'APPROVAL_DECIDED')
      await assert.rejects(runner.decide(id, '1.0', { by: 'eve', decision: 'approve' }), code('APPROVAL_DECIDED'))
      assert.deepEqual((await runner.decide(id, '1.0', { by: 'bob', decision })).decided.by, 'bob')
      assert.deepEqual([await factsOf(store, id), await heardIn(runner, id)], [facts, [heard]])
    })
  }
})

describe('A store that fails', () => {
  for (const when of ['before', 'after'] as const) {
    it(`${when} the append is sent it again with the same token, and one transition comes of it`, async t => {
      const { store, sent, fail } = failingStore(memoryStore(t))
      const [performer, id] = [new ManualPerformer(), newId()]
      const runner = createRunner(t, store, performer)
      fail(2, when)
      await runner.start(id, scripted('a'))
      assert.equal(new Set(sent.map(({ transition }) => transition.token)).size, 1)
      assert.deepEqual([sent.length, await factsOf(store, id), performer.counts], [3, ['started'], { '1.0': 1 }])
    })
  }

  it('for long loses no result of an effect', async t => {
    const memory = memoryStore(t)
    let isDown = false
    const answer = <A extends unknown[], R>(real: (...given: A) => Promise<R>) => async (...given: A) => {
      if (isDown) throw new SessionStoreError('down')
      return await real(...given)
    }
    const store = changedStore(memory, { append: answer(memory.append), head: answer(memory.head) })
    const [performer, id] = [new ManualPerformer(), newId()]
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const runner = createRunner(t, store, performer)
    await runner.start(id, scripted('a > end'))
    isDown = true
    performer.begun[0]?.end()
    for (let count = 0; count < 60; count++) {
      t.mock.timers.tick(1000)
      await new Promise(setImmediate)
    }
    isDown = false
    for (let count = 0; count < 10 && (await memory.head(id))?.status !== 'completed'; count++) {
      t.mock.timers.tick(2000)
      await new Promise(setImmediate)
    }
    assert.deepEqual(await factsOf(memory, id), ['started', 'result'])
  })

  it('and answers only when another replica has gone on leaves the effects to that one', async t => {
    const memory = memoryStore(t)
    const [late, other, id] = [new ManualPerformer(), new ManualPerformer(), newId()]
    const taker = createRunner(t, memory, other)
    let isFirst = true
    const store = changedStore(memory, {
      async append (append) {
        const outcome = await memory.append(append)
        if (!isFirst) return outcome
        isFirst = false
        // The lease of the one who waits for the answer is over now.
        await memory.renew((await memory.head(id))?.driver as string, [id], 0)
        taker.open()
        await waitFor('the other to go on', async () => (await readAll(memory, id)).length > 1)
        throw new SessionStoreError('the answer is lost')
      }
    })
    await createRunner(t, store, late).start(id, scripted('a read'))
    await until(taker, id, 'running')
    assert.deepEqual([late.counts, other.counts], [{}, { 1.1: 1 }])
    assert.deepEqual(await factsOf(memory, id), ['started', 'unknown', 'took'])
  })

  it('with a part of the log ends the session', async t => {
    const memory = memoryStore(t)
    const id = newId()
    let isLost = false
    const store = changedStore(memory, {
      async append (append) {
        const [first] = await readAll(memory, id)
        if (!isLost || first === undefined || append.transition.seq === 2) return await memory.append(append)
        return { top: { seq: 1, token: first.token } }
      }
    })
    const runner = createRunner(t, store, INSTANT)
    await runner.start(id, scripted('a'))
    await until(runner, id, 'waiting_input')
    isLost = true
    const appended: unknown[] = []
    const { append } = memory
    memory.append = async each => {
      appended.push(each.after?.seq, each.transition.fact, each.head.status)
      return await append(each)
    }
    await assert.rejects(runner.input(id, say('b')), code('SESSION_ENDED'))
    assert.deepEqual(appended, [1, { kind: 'stopped', by: 'fault', reason: 'LOG_LOST: transitions from 2 to 2 are gone' }, 'failed'])
  })
})

describe('A fork', () => {
  it('goes on from where the session waited, and leaves the original as it is', async t => {
    const [store, performer, id, copy] = [memoryStore(t), new ManualPerformer(), newId(), newId()]
    const runner = createRunner(t, store, performer)
    await runner.start(id, scripted(''))
    await runner.input(id, say('a > b'))
    const original = await readAll(store, id)
    await forkSession({ store, engines: SCRIPTED, seals: UNSEALED, from: id, to: copy, owner: 'bob', by: 'bob' })
    await runner.input(copy, say('c'))
    assert.deepEqual(await readAll(store, id), original)
    assert.deepEqual(await factsOf(store, copy), ['started', 'input'])
    const start = (await runner.load(copy))?.start
    assert.deepEqual([start?.owner, start?.forkOf?.session, start?.forkOf?.seq], ['bob', id, 1])
    assert.deepEqual(performer.begun.map(({ session, effect }) => [session, 'tool' in effect && effect.tool]), [[id, 'a'], [copy, 'c']])
  })

  it('goes no further than it is told', async t => {
    const [store, id, copy] = [memoryStore(t), newId(), newId()]
    const runner = createRunner(t, store, INSTANT)
    await runner.start(id, scripted(''))
    for (const text of ['a', 'b']) {
      await runner.input(id, say(text))
      await until(runner, id, 'waiting_input')
    }
    await forkSession({ store, engines: SCRIPTED, seals: UNSEALED, from: id, to: copy, owner: '', upTo: 4, by: '' })
    assert.deepEqual(await factsOf(store, copy), ['started', 'input', 'result'])
  })

  it('of a session that never waited is refused', async t => {
    const [store, id] = [memoryStore(t), newId()]
    await createRunner(t, store, new ManualPerformer()).start(id, scripted('a'))
    await assert.rejects(forkSession({ store, engines: SCRIPTED, seals: UNSEALED, from: id, to: newId(), owner: '', by: '' }), NothingToFork)
  })

  it('of which half was copied is never gone on with', async t => {
    const [store, id, copy] = [memoryStore(t), newId(), newId()]
    const runner = createRunner(t, store, INSTANT)
    await runner.start(id, scripted('a'))
    await until(runner, id, 'waiting_input')
    const broken = changedStore(store, {
      async append (append) {
        if (append.transition.seq === 2) throw new SessionStoreError('down')
        return await store.append(append)
      }
    })
    await assert.rejects(forkSession({ store: broken, engines: SCRIPTED, seals: UNSEALED, from: id, to: copy, owner: '', by: '' }), SessionStoreError)
    assert.equal((await store.head(copy))?.status, 'cancelled')
    assert.deepEqual((await store.take('b', 10, 1)).ids, [])
  })
})
