import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test'
import { type Draft, Outbox, type Proof } from '../../../src/service/notices/outbox.ts'
import { type NoticeContent, type Sent } from '../../../src/service/notices/receivers.ts'
import { UNSEALED } from '../../../src/session/session-log.ts'
import { type SessionStore } from '../../../src/session/store/session-store.ts'
import { createMemorySessionStore } from '../../../src/session/store/memory-session-store.ts'
import { type SessionStoreFixture, VARIANTS } from '../../session/store/session-store-variants.ts'
import { quietLog } from '../../helpers/quiet-log.ts'

const HOUR = 3_600_000
const PROOF: Proof = { session: 'a'.repeat(32), seq: 1, token: 't' }
const TAKEN: Sent = { status: 200, milliseconds: 1 }
const refused = (status: number): Sent => ({ status, problem: `answered with status ${status}`, milliseconds: 1 })

/** About `about`, and told apart by `key`. */
function draft (about: string, key: string): Draft {
  return { type: 'session.ended', words: `${about} ${key}`, page: 'sessions/x', about, key, data: { about } }
}

/** Replicas over one store, whose receiver answers as `answer` says. */
function replicas (t: TestContext, open: (index: number) => SessionStore, step: (ms: number) => Promise<void> = async () => {}) {
  let ahead = 0
  const attempts: string[] = []
  const counts: Record<string, number> = {}
  const state = { answer: (_notice: NoticeContent): Sent => TAKEN, truth: true as boolean | undefined, lines: [] as string[] }
  const write = (_fields: object, message: string): void => { state.lines.push(message) }
  const create = (index: number): Outbox => {
    const outbox = new Outbox({
      store: open(index),
      receivers: ['ops'],
      send: async (_receiver, notice) => {
        attempts.push(notice.words)
        return state.answer(notice)
      },
      isTrue: async () => state.truth,
      linkOf: page => `https://example.com/console/${page}`,
      seals: UNSEALED,
      log: quietLog({ info: write, warn: write, error: write }),
      metrics: { count: (_receiver, outcome) => { counts[outcome] = (counts[outcome] ?? 0) + 1 } },
      now: () => Date.now() + ahead
    })
    t.after(() => outbox.close())
    return outbox
  }
  return {
    state,
    attempts,
    counts,
    create,
    async pass (ms: number): Promise<void> {
      ahead += ms
      await step(ms)
    }
  }
}

for (const variant of VARIANTS.slice(0, 3)) {
  describe(`an outbox over ${variant.title}`, () => {
    let fixture: SessionStoreFixture

    before(async () => { fixture = await variant.open() })
    beforeEach(() => fixture.clear())
    after(() => fixture.remove())

    const over = (t: TestContext) => replicas(t, index => index === 0 ? fixture.store : fixture.another(), ms => fixture.step(ms))

    it('sends once what is told twice, by two replicas, and again after it was sent', async t => {
      const { create, attempts } = over(t)
      const [one, other] = [create(0), create(1)]
      const ids = [await one.keep('ops', draft('a', '1')), await other.keep('ops', draft('a', '1'))]
      await one.sendDue()
      ids.push(await other.keep('ops', draft('a', '1')))
      await other.sendDue()
      assert.deepEqual([attempts, new Set(ids).size, await one.waiting('ops')], [['a 1'], 1, 0])
    })

    it('sends what is about one thing in its order, whichever replica does, and what is about another meanwhile', async t => {
      const { create, attempts, state, pass } = over(t)
      const [one, other] = [create(0), create(1)]
      for (const key of ['1', '2', '3']) await (key === '2' ? other : one).keep('ops', draft('a', key))
      await one.keep('ops', draft('b', '1'))
      state.answer = ({ words }) => words === 'a 1' ? refused(500) : TAKEN
      await other.sendDue()
      assert.deepEqual(attempts.toSorted(), ['a 1', 'b 1'])
      state.answer = () => TAKEN
      await one.sendDue()
      assert.equal(attempts.length, 2)
      await pass(5000)
      await one.sendDue()
      assert.deepEqual(attempts.slice(2), ['a 1', 'a 2', 'a 3'])
    })

    it('leaves what a replica had in hand when it died to another, after the lease', async t => {
      const { create, attempts, pass } = over(t)
      await create(0).keep('ops', draft('a', '1'))
      await fixture.store.take('dead', 10, 30_000)
      const other = create(1)
      await other.sendDue()
      assert.deepEqual(attempts, [])
      await pass(30_000)
      await other.sendDue()
      assert.deepEqual(attempts, ['a 1'])
    })

    it('holds what is announced until it is settled, and what comes after it', async t => {
      const { create, attempts } = over(t)
      const outbox = create(0)
      const first = await outbox.keep('ops', draft('a', '1'), PROOF) ?? ''
      const second = await outbox.keep('ops', draft('a', '2'), PROOF) ?? ''
      await outbox.keep('ops', draft('a', '3'))
      outbox.settle([second], false)
      await outbox.sendDue()
      assert.deepEqual(attempts, [])
      outbox.settle([first], true)
      await outbox.sendDue()
      await outbox.sendDue()
      assert.deepEqual(attempts, ['a 1', 'a 3'])
    })

    for (const [truth, told] of [[true, ['a 1', 'a 2']], [false, ['a 2']]] as const) {
      it(`looks up whether what was announced has come true when nobody settles it: ${truth}`, async t => {
        const { create, attempts, state, pass } = over(t)
        await create(0).keep('ops', draft('a', '1'), PROOF)
        const other = create(1)
        await other.keep('ops', draft('a', '2'))
        state.truth = undefined
        await pass(15_000)
        await other.sendDue()
        assert.deepEqual(attempts, [])
        state.truth = truth
        await pass(15_000)
        await other.sendDue()
        assert.deepEqual(attempts, told)
      })
    }

    it('lists what waits and what is dead, with why, and sends a dead one again', async t => {
      const { create, state, attempts, pass } = over(t)
      const [one, other] = [create(0), create(1)]
      state.answer = ({ words }) => refused(words === 'a 1' ? 410 : 500)
      await one.keep('ops', draft('b', '1'))
      await one.sendDue()
      const id = await one.keep('ops', draft('a', '1')) ?? ''
      await one.sendDue()
      const listed = async () => (await other.list('ops', 10)).notices.map(({ words, phase, tries, problem }) => [words, phase, tries, problem]).toSorted()
      assert.deepEqual(await listed(), [['a 1', 'dead', 1, 'answered with status 410'], ['b 1', 'waiting', 1, 'answered with status 500']])
      assert.deepEqual((await other.list('nobody', 10)).notices, [])
      await assert.rejects(other.resend('msg_none'), { code: 'NOTICE_NOT_FOUND' })
      await assert.rejects(other.resend(`msg_${'0'.repeat(48)}`), { code: 'NOTICE_NOT_FOUND' })
      state.answer = () => TAKEN
      await other.resend(id)
      await one.sendDue()
      assert.deepEqual([attempts.at(-1), await listed()], ['a 1', [['b 1', 'waiting', 1, 'answered with status 500']]])
      await assert.rejects(other.resend(id), { code: 'NOTICE_NOT_FOUND' })
      await pass(5000)
      await one.sendDue()
      assert.deepEqual(await listed(), [])
    })

    it('keeps what waits over a restart', async t => {
      const { create, state, attempts, pass } = over(t)
      state.answer = () => refused(503)
      const first = create(0)
      await first.keep('ops', draft('a', '1'))
      await first.sendDue()
      await first.close()
      await fixture.restart?.()
      state.answer = () => TAKEN
      await pass(5000)
      await create(0).sendDue()
      assert.deepEqual(attempts, ['a 1', 'a 1'])
    })
  })
}

describe('a receiver', () => {
  function inMemory (t: TestContext) {
    let ahead = 0
    const store = createMemorySessionStore({ keep: 7 * 24 * HOUR, now: () => Date.now() + ahead })
    t.after(() => store.close())
    const all = replicas(t, () => store, async ms => { ahead += ms })
    return { ...all, outbox: all.create(0) }
  }

  it('that answers 500 for a day gets a notice ever more rarely, until it is dead; then the next one has its turn', async t => {
    const { outbox, state, attempts, counts, pass } = inMemory(t)
    const at: number[] = []
    let minutes = 0
    state.answer = ({ words }) => {
      if (words === 'a 2') return TAKEN
      at.push(minutes)
      return refused(500)
    }
    await outbox.keep('ops', draft('a', '1'))
    await outbox.keep('ops', draft('a', '2'))
    for (; minutes <= 24 * 60; minutes++) {
      await outbox.sendDue()
      await pass(60_000)
    }
    assert.deepEqual(at, [0, 1, 2, 4, 14, 44, 104, 224, 464, 944, 1424])
    assert.deepEqual([attempts.at(-1), counts, (await outbox.list('ops', 10)).notices.map(({ phase, words }) => `${words} ${phase}`)], ['a 2', { failed: 11, dead: 1, sent: 1 }, ['a 1 dead']])
    assert.deepEqual(state.lines, ['a receiver did not take a notice', 'a notice is dead: `aps notices` lists it, and can send it again', 'a receiver of notices takes them again'])
  })

  it('that has said 410 gets nothing more, and nothing is kept for it, until it takes what is sent again', async t => {
    const { outbox, state, attempts, counts } = inMemory(t)
    state.answer = () => refused(410)
    const id = await outbox.keep('ops', draft('a', '1')) ?? ''
    await outbox.keep('ops', draft('a', '2'))
    await outbox.sendDue()
    assert.equal(await outbox.keep('ops', draft('b', '1')), undefined)
    assert.deepEqual([attempts, counts], [['a 1'], { failed: 1, dead: 2, dropped: 1 }])
    state.answer = () => TAKEN
    await outbox.resend(id)
    await outbox.sendDue()
    assert.notEqual(await outbox.keep('ops', draft('b', '1')), undefined)
    await outbox.sendDue()
    assert.deepEqual(attempts, ['a 1', 'a 1', 'b 1'])
  })

  it('that nobody reaches is asked by ten at a time, and by none for a while after', async t => {
    const { outbox, state, attempts, pass } = inMemory(t)
    state.answer = () => ({ problem: 'could not be reached: ECONNREFUSED', milliseconds: 1 })
    for (let n = 0; n < 40; n++) await outbox.keep('ops', draft(`a${n}`, '1'))
    await outbox.sendDue()
    assert.equal(attempts.length, 10)
    await pass(1000)
    await outbox.sendDue()
    assert.equal(attempts.length, 10)
    state.answer = () => TAKEN
    for (let n = 0; n < 10 && await outbox.waiting('ops') > 0; n++) {
      await pass(20_000)
      await outbox.sendDue()
    }
    assert.equal(new Set(attempts).size, 40)
    assert.equal(await outbox.waiting('ops'), 0)
  })

  it('for whom too much waits is not told of more, which is logged and counted', async t => {
    const { outbox, state, counts } = inMemory(t)
    for (let n = 0; n < 101; n++) await outbox.keep('ops', draft('a', String(n)))
    assert.deepEqual([counts, state.lines, (await outbox.list('ops', 10)).notices.length], [{ dropped: 1 }, ['a notice is not kept'], 100])
  })

  it('whom only another replica knows is left to that one', async t => {
    const { outbox, attempts } = inMemory(t)
    await outbox.keep('new', draft('a', '1'))
    await outbox.sendDue()
    assert.deepEqual([attempts, await outbox.waiting('new')], [[], 1])
  })
})
