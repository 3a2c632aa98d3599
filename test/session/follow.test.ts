import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { eventStream, parseEventId } from '../../src/http/send-reply.ts'
import { followSession } from '../../src/session/follow.ts'
import { type SessionStore } from '../../src/session/store/session-store.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { changedStore } from './changed-store.ts'
import { INSTANT, ManualPerformer } from './manual-performer.ts'
import { createRunner, memoryStore, newId, readAll, until } from './runners.ts'
import { scripted } from './script-engine.ts'
import { property } from '../helpers/property.ts'

/** Reads events as a client does: so many of them, then it goes; its last id is what it comes back with. */
async function readEvents (store: SessionStore, id: string, lastEventId: string | undefined, most: number): Promise<{ readonly ids: string[], readonly isOver: boolean }> {
  const after = parseEventId(lastEventId)
  const leaving = new AbortController()
  const stream = eventStream(followSession(store, id, after === undefined ? 0 : after.seq - 1, leaving.signal), { after })
  const ids: string[] = []
  let rest = ''
  try {
    for await (const chunk of stream) {
      const events = `${rest}${chunk}`.split('\n\n')
      rest = events.pop() ?? ''
      ids.push(...events.flatMap(event => (/^id: (.*)$/m.exec(event) ?? []).slice(1)))
      if (ids.length >= most) return { ids: ids.slice(0, most), isOver: false }
    }
    return { ids, isOver: true }
  } finally {
    leaving.abort()
    stream.destroy()
  }
}

describe('A follower', () => {
  it('is given each transition once and in order, those that are there and those that come, up to the end', async t => {
    const [store, performer, id] = [memoryStore(t), new ManualPerformer(), newId()]
    const runner = createRunner(t, store, performer)
    await runner.start(id, scripted('a b > c > end'))
    const seqs: number[] = []
    const following = (async () => {
      for await (const followed of followSession(store, id, 0, new AbortController().signal)) if ('transition' in followed) seqs.push(followed.transition.seq)
    })()
    for (let n = 0; n < 3; n++) (await performer.at(n)).end()
    await following
    assert.deepEqual(seqs, [1, 2, 3, 4])
  })

  it('is given what stands behind the end of a session, too, wherever it begins', async t => {
    const [store, performer, id] = [memoryStore(t), new ManualPerformer(), newId()]
    const runner = createRunner(t, store, { isRepeatable: () => false, perform: async (session, effect, signal) => await performer.perform(session, effect, signal).then(() => ({ kind: 'unknown' })) })
    await runner.start(id, scripted('a'))
    await performer.at(0)
    await runner.stop(id, 'cancel', '')
    await waitFor('what is behind it', async () => (await readAll(store, id)).length === 3)
    for (let after = 0; after <= 3; after++) {
      const seqs: number[] = []
      for await (const followed of followSession(store, id, after, AbortSignal.timeout(4000))) if ('transition' in followed) seqs.push(followed.transition.seq)
      assert.deepEqual(seqs, [1, 2, 3].slice(after))
    }
  })

  it('hears between them what is said live', async t => {
    const [store, id] = [memoryStore(t), newId()]
    const runner = createRunner(t, store, {
      ...INSTANT,
      async perform (_session, _effect, _signal, publish) {
        // So that the follower is where the effect began.
        await new Promise(setImmediate)
        publish({ delta: 'a' })
        await new Promise(setImmediate)
        return { kind: 'result', result: null }
      }
    })
    await runner.start(id, scripted(''))
    const heard: unknown[] = []
    const following = (async () => {
      for await (const followed of followSession(store, id, 1, new AbortController().signal)) heard.push('live' in followed ? followed.live : followed.transition.fact.kind)
    })()
    await runner.input(id, { id: '1', by: 'ann', text: '?a > end' })
    await following
    assert.deepEqual(heard, ['input', { delta: 'a' }, 'result'])
  })

  it('hears what is said live before what was added behind it, however fast that came', async t => {
    const [store, id] = [memoryStore(t), newId()]
    const runner = createRunner(t, store, {
      ...INSTANT,
      async perform (_session, effect, _signal, publish) {
        publish({ of: effect.id })
        return { kind: 'result', result: null }
      }
    })
    await runner.start(id, scripted(''))
    const heard: unknown[] = []
    const following = (async () => {
      for await (const followed of followSession(store, id, 1, new AbortController().signal)) heard.push('live' in followed ? followed.live : followed.transition.fact.kind)
    })()
    await runner.input(id, { id: '1', by: 'ann', text: '?a > ?b > end' })
    await following
    assert.deepEqual(heard, ['input', { of: '2.0' }, 'result', { of: '3.0' }, 'result'])
  })

  it('is given what is said live without a look into the log', async t => {
    const [real, id, leaving] = [memoryStore(t), newId(), new AbortController()]
    let looks = 0
    const store = changedStore(real, {
      read (...given) {
        looks++
        return real.read(...given)
      }
    })
    await createRunner(t, real, INSTANT).start(id, scripted(''))
    const followed = followSession(store, id, 0, leaving.signal)
    await followed.next()
    const waiting = followed.next()
    await new Promise(setImmediate)
    const before = looks
    for (let n = 0; n < 5; n++) {
      real.publish(id, { n })
      await new Promise(setImmediate)
    }
    assert.deepEqual([await waiting, (await followed.next()).value, looks], [{ done: false, value: { live: { n: 0 } } }, { live: { n: 1 } }, before])
    leaving.abort()
    await followed.return(undefined)
  })

  it('that leaves listens no longer', async t => {
    const [store, id, leaving] = [memoryStore(t), newId(), new AbortController()]
    await createRunner(t, store, INSTANT).start(id, scripted(''))
    let listeners = 0
    const { watch } = store
    store.watch = async (...given) => {
      const stop = await watch(...given)
      listeners++
      return () => {
        listeners--
        stop()
      }
    }
    const followed = followSession(store, id, 0, leaving.signal)
    await followed.next()
    const waiting = followed.next()
    assert.equal(listeners, 1)
    leaving.abort()
    assert.deepEqual([await waiting, listeners], [{ done: true, value: undefined }, 0])
  })

  property('that comes back by its last event id misses nothing and sees nothing twice, wherever it is cut off', 100, async (given, t) => {
    const store = memoryStore(t)
    const runner = createRunner(t, store, INSTANT)
    const step = fc.array(fc.constantFrom('?b', '?c'), { minLength: 1, maxLength: 4 }).map(words => words.join(' '))
    await given.comesToHold(fc.asyncProperty(fc.array(step, { maxLength: 4 }), fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 8 }), fc.boolean(), async (steps, cuts, isLate) => {
      const id = newId()
      await runner.start(id, scripted([...steps, 'end'].join(' > ')))
      if (isLate) await until(runner, id, 'completed')
      const seen: string[] = []
      for (let n = 0, isOver = false; !isOver; n++) {
        const read = await readEvents(store, id, seen.at(-1), cuts[n % cuts.length] as number)
        seen.push(...read.ids)
        isOver = read.isOver
      }
      const expected = (await readAll(store, id)).flatMap(({ seq, notices }) => notices.map((_notice, n) => `${seq}.${n}`))
      assert.deepEqual(seen, expected)
    }))
  })

  it('that names an event which no session has is given all', () => {
    for (const text of ['0.0', '0.5', '-1.0', '1', '01.0', 'x', '', '1.0.0']) assert.equal(parseEventId(text), undefined)
    assert.deepEqual(parseEventId('12.0'), { seq: 12, n: 0 })
  })

  it('whose stream fails unexpectedly is told no more than that', async () => {
    async function * broken (): AsyncGenerator<never> {
      throw new Error('secret place')
    }
    assert.match(await text(eventStream(broken())), /^event: error\ndata: \{"code":"INTERNAL","message":"The stream ended unexpectedly/)
  })

  it('of a session that has ended, behind its end, is told so', async t => {
    const [store, id] = [memoryStore(t), newId()]
    const runner = createRunner(t, store, INSTANT)
    await runner.start(id, scripted('end'))
    await waitFor('the end', async () => (await store.head(id))?.status === 'completed')
    const leaving = AbortSignal.timeout(5000)
    assert.deepEqual(await followSession(store, id, 1, leaving).next(), { done: true, value: undefined })
    assert.equal(leaving.aborted, false)
  })
})
