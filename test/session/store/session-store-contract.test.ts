import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { stringifyJson } from '../../../src/base/json.ts'
import { type Head } from '../../../src/session/model.ts'
import { type Append, SessionStoreError, type ListQuery, type SessionListener, type SessionStore } from '../../../src/session/store/session-store.ts'
import { waitFor } from '../../helpers/wait-for.ts'
import { append, appendOf, createSession, newId, positionOf, readAll } from './session-appends.ts'
import { KEEP_MS, VARIANTS, type SessionStoreFixture } from './session-store-variants.ts'

/** Values that lose something when they are written and read carelessly. */
const TEXTS: readonly { title: string, text: string }[] = [
  { title: 'line ends of all kinds', text: 'a\r\nb\nc\rd\u2028e\u2029f\0' },
  { title: 'letters beyond the ASCII range', text: '"神码 \u{1F409} é \uFFFD"' },
  { title: 'half a surrogate pair', text: 'a\uD800' },
  { title: '256 KiB', text: 'é'.repeat(128 * 1024) },
  { title: 'nothing', text: '' }
]

for (const variant of VARIANTS) {
  describe(`session store: ${variant.title}`, () => {
    let fixture: SessionStoreFixture

    before(async () => { fixture = await variant.open() })
    beforeEach(() => fixture.clear())
    after(() => fixture.remove())

    test('knows nothing when it is empty', async () => {
      const { store } = fixture
      assert.deepEqual(await readAll(store, newId()), [])
      assert.equal(await store.head(newId()), undefined)
      assert.deepEqual(await store.list({ limit: 10 }), { heads: [], next: undefined })
      assert.deepEqual(await store.take('a', 10, 1000), { ids: [], next: undefined })
      assert.deepEqual(await store.renew('a', [newId()], 1000), [])
      assert.equal(store.problem(), undefined)
    })

    test('says whether any session has not ended', async () => {
      const { store } = fixture
      assert.equal(await store.hasOpen(), false)
      const first = appendOf(newId(), undefined)
      await store.append(first)
      assert.deepEqual([await store.hasOpen(), await fixture.another().hasOpen()], [true, true])
      await store.append(appendOf(first.id, positionOf(first), { status: 'completed', due: 'never' }))
      assert.equal(await store.hasOpen(), false)
    })

    test('counts the sessions of an owner that have not ended', async () => {
      const { store } = fixture
      const firsts = Array.from({ length: 3 }, () => appendOf(newId(), undefined))
      for (const first of firsts) await store.append(first)
      const { owner } = (firsts[0] as Append).head
      assert.deepEqual([await store.countOpen(owner), await store.countOpen(`${owner}2`)], [3, 0])
      const ended = firsts[0] as Append
      await store.append(appendOf(ended.id, positionOf(ended), { status: 'completed' }))
      assert.deepEqual([await store.countOpen(owner), await fixture.another().countOpen(owner)], [2, 2])
    })

    test('keeps what is known of an owner until it is forgotten', async () => {
      const { store } = fixture
      assert.deepEqual(await store.keptOwners(), new Map())
      for (const [name, text] of [['https://id.example.com#ann', 'a'], ['__proto__', '{}'], ['https://id.example.com#ann', 'b']] as const) await store.keepOwner(name, text)
      assert.deepEqual(await fixture.another().keptOwners(), new Map([['https://id.example.com#ann', 'b'], ['__proto__', '{}']]))
      for (const name of ['__proto__', 'https://id.example.com#ann', 'unknown']) await store.keepOwner(name, undefined)
      assert.deepEqual(await store.keptOwners(), new Map())
    })

    test('tallies what has not ended by kind and state, what is due, and since when an approval waits', async () => {
      const { store } = fixture
      assert.deepEqual(await store.tally(), { open: [], unread: 0, due: 0, overdue: 0, asked: undefined })
      const root = newId()
      const left = appendOf(newId(), undefined, { due: 0 })
      const ended = appendOf(newId(), undefined)
      for (const each of [left, ended, appendOf(root, undefined), appendOf(newId(), undefined, { status: 'waiting_approval', createdAt: 5000 })]) await store.append(each)
      await store.append(appendOf(newId(), undefined, { status: 'waiting_approval', definition: 'plans/tidy/up', above: { parent: root, root, askedAt: 3000 } }))
      await store.append(appendOf(ended.id, positionOf(ended), { status: 'completed', due: 'never' }))
      await fixture.step(30_000)
      const { open, overdue, ...rest } = await fixture.another().tally()
      assert.deepEqual(new Set(open.map(({ kind, status, count }) => `${count} ${kind} ${status}`)), new Set(['2 agents running', '1 agents waiting_approval', '1 plans waiting_approval']))
      assert.deepEqual(rest, { unread: 0, due: 1, asked: 3000 })
      assert.ok(overdue >= 30_000 && overdue < 60_000, `${overdue}`)
      assert.deepEqual((await store.take('a', 10, 1000)).ids, [left.id])
      const { due, overdue: none } = await store.tally()
      assert.deepEqual([due, none], [0, 0])
    })

    test('takes a session from its driver, and gives it to whoever asks first', async () => {
      const { store } = fixture
      const [id, ended] = [newId(), newId()]
      await append(store, id, undefined, { driver: 'a', due: 60_000 })
      await append(store, ended, undefined, { status: 'completed', due: 'never' })
      assert.deepEqual([await fixture.another().redrive(id), await store.redrive(ended), await store.redrive(newId()), await store.redrive('x')], [true, false, false, false])
      assert.equal((await store.head(id))?.driver, undefined)
      assert.deepEqual((await store.renew('a', [id], 60_000)).map(({ isYours }) => isYours), [false])
      assert.deepEqual((await store.take('b', 10, 60_000)).ids, [id])
      assert.equal((await store.head(id))?.driver, 'b')
    })

    test('gives nothing for an id that no session can have', async () => {
      for (const id of ['', '../../etc/passwd', 'A'.repeat(32), `${newId()}\n`, `${newId()}0`, '__proto__']) {
        assert.deepEqual(await readAll(fixture.store, id), [])
        assert.equal(await fixture.store.head(id), undefined)
        assert.deepEqual(await fixture.store.renew('a', [id], 1000), [])
      }
    })

    for (const [what, change] of [
      ['an id that no session can have', { id: '../x' }],
      ['a gap', { after: { seq: 1, token: 'x' } }],
      ['the head of another session', { head: appendOf(newId(), undefined).head }]
    ] as const) {
      test(`refuses an append with ${what}`, async () => {
        await assert.rejects(fixture.store.append({ ...appendOf(newId(), undefined), ...change }), RangeError)
      })
    }

    test('gives what was appended, in order and without a gap', async () => {
      const id = newId()
      const first = appendOf(id, undefined)
      const second = appendOf(id, positionOf(first))
      assert.deepEqual([await fixture.store.append(first), await fixture.store.append(second)], ['ok', 'ok'])
      assert.deepEqual(await readAll(fixture.store, id), [first.transition, second.transition])
      assert.deepEqual(await readAll(fixture.another(), id), [first.transition, second.transition])
    })

    for (const { title, text } of TEXTS) {
      test(`keeps ${title} as it is`, async () => {
        const one = appendOf(newId(), undefined, { text, owner: `a${text.slice(0, 100)}` })
        await fixture.store.append(one)
        assert.deepEqual(await readAll(fixture.store, one.id), [one.transition])
        assert.deepEqual(await fixture.store.head(one.id), one.head)
      })
    }

    test('keeps integers beyond 2^53, and what is nested as deeply as a model may answer', async () => {
      let result: unknown = 12345678901234567890n
      for (let depth = 0; depth < 100; depth++) result = [result]
      const one = appendOf(newId(), undefined)
      const transition = { ...one.transition, fact: { kind: 'result', effect: '1.0', result: result as [] } } as const
      await fixture.store.append({ ...one, transition, entry: { ...one.entry, text: stringifyJson(transition) } })
      assert.deepEqual(await readAll(fixture.store, one.id), [transition])
    })

    test('keeps each text with its seal byte for byte, whatever stands in it', async () => {
      const id = newId()
      const first = appendOf(id, undefined, { text: '","transition":{"seq":7,"seal":"x"}\n' })
      const entry = { seq: 1, text: JSON.stringify(first.transition, null, 1), seal: 'aB-_9' }
      await fixture.store.append({ ...first, entry: { ...entry, text: entry.text.replaceAll('\n', ' ') } })
      for await (const page of fixture.another().read(id, 0)) assert.deepEqual(page, [{ ...entry, text: entry.text.replaceAll('\n', ' ') }])
    })

    test('reads behind a number, in pages of at most 500', async () => {
      const id = newId()
      await createSession(fixture.store, id, 1100)
      const pages: number[] = []
      const seqs: number[] = []
      for await (const page of fixture.store.read(id, 50)) {
        pages.push(page.length)
        seqs.push(...page.map(({ seq }) => seq))
      }
      assert.ok(Math.max(...pages) <= 500)
      assert.deepEqual(seqs, Array.from({ length: 1050 }, (_, index) => index + 51))
      assert.deepEqual((await readAll(fixture.store, id, 1099)).map(({ seq }) => seq), [1100])
      assert.deepEqual(await readAll(fixture.store, id, 1100), [])
      assert.deepEqual(await readAll(fixture.store, id, 5000), [])
    })

    test('lets one of 50 concurrent writers win, and tells the others what is there', async () => {
      const id = newId()
      const top = await append(fixture.store, id)
      const stores = [fixture.store, fixture.another()]
      const appends = Array.from({ length: 50 }, () => appendOf(id, top))
      const outcomes = await Promise.all(appends.map((one, index) => (stores[index % 2] as SessionStore).append(one)))
      const winner = outcomes.indexOf('ok')
      const now = positionOf(appends[winner] as typeof appends[0])
      assert.deepEqual(outcomes.filter(outcome => outcome !== 'ok'), Array(49).fill({ top: now }))
      assert.deepEqual((await readAll(fixture.store, id)).map(({ token }) => token), [top.token, now.token])
    })

    test('lets one of 50 concurrent writers create a session', async () => {
      const id = newId()
      const outcomes = await Promise.all(Array.from({ length: 50 }, () => fixture.store.append(appendOf(id, undefined))))
      assert.equal(outcomes.filter(outcome => outcome === 'ok').length, 1)
      assert.equal((await readAll(fixture.store, id)).length, 1)
    })

    test('refuses a writer who knows the number and another token', async () => {
      const id = newId()
      const top = await append(fixture.store, id)
      assert.deepEqual(await fixture.store.append(appendOf(id, { ...top, token: 'other' })), { top })
      assert.equal((await readAll(fixture.store, id)).length, 1)
    })

    test('says that nothing is there to a writer who follows something', async () => {
      const id = newId()
      assert.deepEqual(await fixture.store.append(appendOf(id, { seq: 3, token: 'x' })), { top: undefined })
      assert.equal(await fixture.store.head(id), undefined)
    })

    test('answers a resend with "again", also when others have gone on since', async () => {
      const id = newId()
      const first = appendOf(id, undefined)
      assert.equal(await fixture.store.append(first), 'ok')
      assert.equal(await fixture.store.append(first), 'again')
      const second = appendOf(id, positionOf(first))
      await fixture.store.append(second)
      await append(fixture.store, id, positionOf(second))
      assert.equal(await fixture.store.append(first), 'again')
      assert.equal(await fixture.store.append(second), 'again')
      assert.equal((await readAll(fixture.store, id)).length, 3)
    })

    test('writes a resend once that runs beside the first try', async () => {
      const one = appendOf(newId(), undefined)
      assert.deepEqual((await Promise.all([1, 2, 3].map(() => fixture.store.append(one)))).sort(), ['again', 'again', 'ok'])
      assert.equal((await readAll(fixture.store, one.id)).length, 1)
    })

    test('tells a writer of a lost tail, and writes nothing over it', async t => {
      if (fixture.loseTail === undefined) return t.skip('it loses all or nothing')
      const id = newId()
      const first = await append(fixture.store, id)
      const lost = appendOf(id, first)
      await fixture.store.append(lost)
      await fixture.loseTail(id)
      assert.deepEqual(await fixture.store.append(appendOf(id, positionOf(lost))), { top: first })
      assert.deepEqual((await readAll(fixture.store, id)).map(({ seq }) => seq), [1])
      // Who still has it appends it again.
      assert.equal(await fixture.store.append(lost), 'ok')
      assert.deepEqual((await readAll(fixture.store, id)).map(({ token }) => token), [first.token, lost.transition.token])
    })

    test('keeps the head of the last append', async () => {
      const id = newId()
      const top = await append(fixture.store, id, undefined, { status: 'running', driver: 'a' })
      const second = appendOf(id, top, { status: 'waiting_input' })
      await fixture.store.append(second)
      assert.deepEqual(await fixture.store.head(id), second.head)
      assert.deepEqual(await fixture.another().head(id), second.head)
    })

    test('keeps no head of a refused append', async () => {
      const one = appendOf(newId(), undefined)
      await fixture.store.append(one)
      await fixture.store.append(appendOf(one.id, undefined, { status: 'completed', due: 'never' }))
      assert.deepEqual(await fixture.store.head(one.id), one.head)
    })

    describe('lists', () => {
      const DEFINITIONS = ['agents/helper', 'skills/git']
      const OWNERS = ['ann', 'bob', '']

      /** Sessions of all kinds, several of each millisecond; their heads, the newest first. */
      async function populate (store: SessionStore, count: number): Promise<Head[]> {
        const heads: Head[] = []
        for (let index = 0; index < count; index++) {
          const hasEnded = index % 5 === 0
          const one = appendOf(newId(), undefined, {
            createdAt: 1_700_000_000_000 + Math.floor(index / 3),
            owner: OWNERS[index % 3] as string,
            definition: DEFINITIONS[index % 2] as string,
            ...(hasEnded ? { status: 'completed', due: 'never' } : { status: index % 4 === 0 ? 'waiting_approval' : 'running' })
          })
          await store.append(one)
          heads.push(one.head)
        }
        return heads.sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
      }

      async function listAll (store: SessionStore, query: ListQuery): Promise<Head[]> {
        const heads: Head[] = []
        let cursor: string | undefined
        do {
          const page = await store.list({ ...query, ...(cursor === undefined ? {} : { cursor }) })
          assert.ok(page.heads.length <= query.limit)
          heads.push(...page.heads)
          cursor = page.next
        } while (cursor !== undefined)
        return heads
      }

      test('all sessions, the newest first, page by page', async () => {
        const heads = await populate(fixture.store, 100)
        for (const limit of [1, 7, 100, 200]) assert.deepEqual(await listAll(fixture.store, { limit }), heads)
        assert.deepEqual((await fixture.store.list({ limit: 10 })).heads, heads.slice(0, 10))
      })

      for (const [what, query] of [
        ['of an owner', { owner: 'bob' }],
        ['without an owner', { owner: '' }],
        ['of an owner who has none', { owner: 'eve' }],
        ['of some statuses', { statuses: ['completed', 'waiting_approval'] }],
        ['of no status', { statuses: [] }],
        ['of an owner that ask', { owner: 'ann', isAsking: true }],
        ['of anybody that ask', { isAsking: true }],
        ['of a definition', { definition: 'skills/git' }],
        ['of an owner that have not ended', { owner: 'ann', statuses: ['running', 'waiting_input', 'waiting_approval'] }],
        ['of a kind', { kind: 'skills' }],
        ['begun since a time', { since: 1_700_000_000_007 }],
        ['begun before a time', { until: 1_700_000_000_007 }],
        ['of an owner, begun within a time', { owner: 'bob', since: 1_700_000_000_003, until: 1_700_000_000_012 }],
        ['begun within no time', { since: 1_700_000_000_007, until: 1_700_000_000_007 }],
        ['of all three', { owner: 'ann', statuses: ['running'], definition: 'agents/helper' }]
      ] as const) {
        test(`the sessions ${what}`, async () => {
          const heads = await populate(fixture.store, 60)
          const wanted = heads.filter(head => (!('owner' in query) || head.owner === query.owner) &&
            (!('statuses' in query) || (query.statuses as readonly string[]).includes(head.status)) && (!('definition' in query) || head.definition === query.definition) && (!('isAsking' in query) || head.isAsking) &&
            (!('kind' in query) || head.definition.startsWith(query.kind)) && (!('since' in query) || head.createdAt >= query.since) && (!('until' in query) || head.createdAt < query.until))
          assert.deepEqual(await listAll(fixture.store, { ...query, limit: 5 }), wanted)
        })
      }

      describe('of children', () => {
        /** A session with a child that has one of its own; their heads. */
        async function family (store: SessionStore, owner: string): Promise<readonly [Head, Head, Head]> {
          const [root, child, grandchild] = [newId(), newId(), newId()]
          const heads: Head[] = []
          for (const [n, one] of [
            appendOf(root, undefined, { owner, createdAt: 1 }),
            appendOf(child, undefined, { owner, createdAt: 2, above: { parent: root, root } }),
            appendOf(grandchild, undefined, { owner, createdAt: 3, above: { parent: child, root }, status: 'waiting_approval' })
          ].entries()) {
            assert.equal(await store.append(one), 'ok', String(n))
            heads.push(one.head)
          }
          return heads as unknown as readonly [Head, Head, Head]
        }

        test('leave them out, and count them once with the session above all', async () => {
          const owner = `o${newId()}`
          const [root] = await family(fixture.store, owner)
          await family(fixture.store, `${owner}2`)
          assert.deepEqual(await listAll(fixture.store, { owner, limit: 5 }), [root])
          assert.ok(!(await listAll(fixture.store, { limit: 50 })).some(({ parent }) => parent !== undefined))
          assert.equal(await fixture.store.countOpen(owner), 1)
        })

        test('have them by the session above all, and by the one that has started them', async () => {
          const owner = `o${newId()}`
          const [root, child, grandchild] = await family(fixture.store, owner)
          assert.deepEqual(await listAll(fixture.store, { root: root.id, limit: 1 }), [grandchild, child])
          assert.deepEqual(await listAll(fixture.another(), { root: root.id, parent: root.id, limit: 5 }), [child])
          assert.deepEqual(await listAll(fixture.store, { root: root.id, owner: 'another', limit: 5 }), [])
          assert.deepEqual(await listAll(fixture.store, { root: child.id, limit: 5 }), [])
        })

        test('are among those in which an approval waits, the first begun first', async () => {
          const owner = `o${newId()}`
          const [, , grandchild] = await family(fixture.store, owner)
          const own = appendOf(newId(), undefined, { owner, status: 'waiting_approval', createdAt: 9 })
          await fixture.store.append(own)
          const asking = async (store: SessionStore) => (await store.asking()).filter(each => each.owner === owner)
            .map(({ id, definition, createdAt }) => ({ id, definition, createdAt }))
          const shown = ({ id, definition, createdAt }: Head) => ({ id, definition, createdAt })
          assert.deepEqual(await listAll(fixture.store, { owner, isAsking: true, limit: 5 }), [own.head])
          assert.deepEqual(await asking(fixture.store), [shown(grandchild), shown(own.head)])
          await fixture.store.append(appendOf(grandchild.id, grandchild, { owner, status: 'completed', due: 'never', createdAt: 3, above: { parent: String(grandchild.parent), root: String(grandchild.root) } }))
          assert.deepEqual(await asking(fixture.another()), [shown(own.head)])
        })

        test('forget them when they are kept no longer', async () => {
          const owner = `o${newId()}`
          const [root, child, grandchild] = await family(fixture.store, owner)
          for (const head of [child, grandchild]) await fixture.store.append(appendOf(head.id, head, { owner, status: 'completed', due: 'never', createdAt: head.createdAt, above: { parent: String(head.parent), root: String(head.root) } }))
          assert.equal((await listAll(fixture.store, { root: root.id, limit: 5 })).length, 2)
          await fixture.step(KEEP_MS + 1)
          await fixture.store.take('r', 10, 1000)
          assert.deepEqual(await listAll(fixture.store, { root: root.id, limit: 5 }), [])
        })
      })

      test('go on behind a session that is gone, and do not repeat for one that came', async () => {
        const heads = await populate(fixture.store, 20)
        const { next } = await fixture.store.list({ limit: 5 })
        await append(fixture.store, newId(), undefined, { createdAt: 1_800_000_000_000 })
        await fixture.step(KEEP_MS + 1)
        const left = heads.slice(5).filter(({ status }) => status !== 'completed')
        assert.deepEqual((await fixture.store.list({ limit: 50, cursor: next as string })).heads, left)
      })

      test('show a session once, as it is now', async () => {
        const id = newId()
        const top = await append(fixture.store, id)
        const second = appendOf(id, top, { status: 'completed', due: 'never' })
        await fixture.store.append(second)
        assert.deepEqual(await listAll(fixture.store, { limit: 10 }), [second.head])
      })

      test('refuse a cursor that no page has given', async () => {
        for (const cursor of ['', 'x', `1-${newId()}0`, `-1-${newId()}`, '__proto__']) await assert.rejects(fixture.store.list({ limit: 10, cursor }), RangeError)
      })
    })

    describe('takes', () => {
      test('what is due, once, and says when the next one is', async () => {
        const [now, later] = [newId(), newId()]
        await append(fixture.store, now, undefined, { due: 0 })
        await append(fixture.store, later, undefined, { due: 30_000 })
        const [one, other] = [await fixture.store.take('a', 10, 15_000), await fixture.another().take('b', 10, 15_000)]
        assert.deepEqual([one.ids, other.ids], [[now], []])
        assertAbout(other.next, 15_000)
        assert.equal((await fixture.store.head(now))?.driver, 'a')
        assert.equal((await fixture.store.head(later))?.driver, undefined)
        await fixture.step(15_001)
        const again = await fixture.another().take('b', 10, 60_000)
        assert.deepEqual(again.ids, [now])
        assertAbout(again.next, 15_000)
        assert.equal((await fixture.store.head(now))?.driver, 'b')
      })

      test('each session once, of many that are taken by two at a time', async () => {
        const ids = Array.from({ length: 100 }, () => newId())
        for (const id of ids) await append(fixture.store, id, undefined, { due: 0 })
        const taken: string[] = []
        await Promise.all(['a', 'b'].map(async (by, index) => {
          for (;;) {
            const { ids, next } = await (index === 0 ? fixture.store : fixture.another()).take(by, 7, 60_000)
            assert.ok(ids.length <= 7)
            taken.push(...ids)
            if (next !== 0) break
          }
        }))
        assert.deepEqual(taken.sort(), ids.sort())
      })

      test('as many as the limit, of whatever shard they are', async () => {
        for (let count = 0; count < 20; count++) await append(fixture.store, newId('7'), undefined, { due: 0 })
        const { ids, next } = await fixture.store.take('a', 15, 60_000)
        assert.deepEqual([ids.length, next], [15, 0])
        assert.equal((await fixture.store.take('a', 15, 60_000)).ids.length, 5)
      })

      test('only sessions of the engines that are wanted, however many others are due before, and names these', async () => {
        const others = Array.from({ length: 20 }, () => newId('7'))
        for (const id of others) await append(fixture.store, id, undefined, { due: 0, engine: 'skill/2' })
        await fixture.step(20)
        const wanted = newId('7')
        await append(fixture.store, wanted, undefined, { due: 0 })
        const { ids, next, unknown = [] } = await fixture.store.take('a', 1, 60_000, new Set(['agent/1', 'skill/1']))
        assert.deepEqual(ids, [wanted])
        assertAbout(next, 60_000)
        assert.deepEqual(unknown.map(({ id }) => id).sort(), others.sort())
        assert.ok(unknown.every(({ engine, overdue }) => engine === 'skill/2' && overdue >= 20))
        assert.equal((await fixture.store.head(others[0] as string))?.driver, undefined)
        assert.equal((await fixture.another().take('b', 30, 60_000, new Set(['skill/2']))).ids.length, 20)
      })

      test('one session of each owner after the other, however many of one were due before', async () => {
        const owners = new Map<string, string>()
        const leave = async (owner: string, shard: string) => {
          const id = newId(shard)
          owners.set(id, owner)
          await append(fixture.store, id, undefined, { due: 0, owner })
        }
        for (let each = 0; each < 20; each++) await leave('ann', '7')
        await fixture.step(20)
        for (const owner of ['bob', 'eve']) for (let each = 0; each < 2; each++) await leave(owner, '7')
        const taken: string[] = []
        for (let each = 0; each < 3; each++) taken.push(...(await fixture.store.take('a', 2, 60_000)).ids.map(id => owners.get(id) ?? ''))
        assert.deepEqual([taken.slice(0, 3).sort(), taken.slice(3).sort()], [['ann', 'bob', 'eve'], ['ann', 'bob', 'eve']])
      })

      test('nothing of the owners that are passed over, wherever what others have left is', async () => {
        for (const shard of '0123456789abcdef') await append(fixture.store, newId(shard), undefined, { due: 0, owner: 'ann' })
        const id = newId('9')
        await append(fixture.store, id, undefined, { due: 0, owner: 'bob' })
        const take = async (passed: readonly string[]) => (await fixture.store.take('a', 1, 60_000, undefined, new Set(passed))).ids
        assert.deepEqual([await take(['ann', 'bob']), await take(['ann']), (await take(['bob'])).length], [[], [id], 1])
      })

      test('nothing that has ended', async () => {
        const id = newId()
        const top = await append(fixture.store, id, undefined, { due: 0, driver: 'a' })
        await append(fixture.store, id, top, { status: 'completed', due: 'never', driver: 'a' })
        assert.deepEqual(await fixture.store.take('b', 10, 1000), { ids: [], next: undefined })
        assert.equal((await fixture.store.head(id))?.driver, undefined)
      })

      test('at the old time what somebody appended to who does not drive', async () => {
        const id = newId()
        const top = await append(fixture.store, id, undefined, { due: 15_000, driver: 'a' })
        const kept = appendOf(id, top, { due: 'keep', driver: 'b', status: 'waiting_input' })
        await fixture.store.append(kept)
        assert.deepEqual(await fixture.store.head(id), { ...kept.head, driver: 'a' })
        assertAbout((await fixture.store.take('b', 10, 1000)).next, 15_000)
        await fixture.step(15_001)
        assert.deepEqual((await fixture.store.take('b', 10, 1000)).ids, [id])
      })

      test('never a session that nobody has made due', async () => {
        await append(fixture.store, newId(), undefined, { due: 'keep', driver: 'a' })
        assert.deepEqual(await fixture.store.take('b', 10, 1000), { ids: [], next: undefined })
      })
    })

    describe('renewals', () => {
      test('make the lease longer for the driver only, and tell of the last transition', async () => {
        const [mine, theirs] = [newId(), newId()]
        await createSession(fixture.store, mine, 3, { due: 15_000, driver: 'a' })
        await createSession(fixture.store, theirs, 2, { due: 15_000, driver: 'b' })
        const unknown = newId()
        assert.deepEqual(await fixture.store.renew('a', [mine, unknown, theirs], 40_000), [
          { id: mine, seq: 3, isYours: true }, { id: theirs, seq: 2, isYours: false }
        ])
        await fixture.step(15_001)
        const { ids, next } = await fixture.store.take('c', 10, 60_000)
        assert.deepEqual(ids, [theirs])
        assertAbout(next, 25_000)
      })

      test('end when another one has taken the session', async () => {
        const id = newId()
        await append(fixture.store, id, undefined, { due: 0, driver: 'a' })
        await fixture.another().take('b', 10, 15_000)
        assert.deepEqual(await fixture.store.renew('a', [id], 15_000), [{ id, seq: 1, isYours: false }])
        assert.deepEqual(await fixture.another().renew('b', [id], 15_000), [{ id, seq: 1, isYours: true }])
      })

      test('make nothing due that has ended or waits', async () => {
        const [ended, waiting] = [newId(), newId()]
        await append(fixture.store, ended, undefined, { due: 'never', status: 'completed' })
        await append(fixture.store, waiting, undefined, { due: 60_000, status: 'waiting_input' })
        assert.deepEqual((await fixture.store.renew('a', [ended, waiting], 1)).map(({ isYours }) => isYours), [false, false])
        assertAbout((await fixture.store.take('a', 10, 1)).next, 60_000)
      })
    })

    describe('an ended session', () => {
      test('is kept for a time, and then forgotten', async () => {
        const id = newId()
        const top = await append(fixture.store, id)
        const last = appendOf(id, top, { status: 'failed', due: 'never' })
        await fixture.store.append(last)
        await fixture.step(KEEP_MS - 60_000)
        assert.deepEqual(await fixture.store.head(id), last.head)
        assert.equal((await readAll(fixture.store, id)).length, 2)
        await fixture.step(60_001)
        assert.equal(await fixture.store.head(id), undefined)
        assert.deepEqual(await readAll(fixture.store, id), [])
        assert.deepEqual((await fixture.store.list({ limit: 10 })).heads, [])
        assert.deepEqual((await fixture.store.list({ limit: 10, owner: 'ann' })).heads, [])
        assert.deepEqual(await fixture.store.renew('a', [id], 1000), [])
        assert.deepEqual((await fixture.store.take('a', 10, 1000)).ids, [])
      })

      test('takes late facts, and a resend of its last one', async () => {
        const id = newId()
        const top = await append(fixture.store, id)
        const last = appendOf(id, top, { status: 'cancelled', due: 'never' })
        assert.equal(await fixture.store.append(last), 'ok')
        assert.equal(await fixture.store.append(last), 'again')
        assert.deepEqual(await fixture.store.append(appendOf(id, top)), { top: positionOf(last) })
        await append(fixture.store, id, positionOf(last), { status: 'cancelled', due: 'keep' })
        assert.equal((await readAll(fixture.store, id)).length, 3)
        assert.deepEqual(await fixture.store.take('a', 10, 1000), { ids: [], next: undefined })
      })

      test('that goes on is kept as any other', async () => {
        const id = newId()
        const top = await append(fixture.store, id, undefined, { status: 'completed', due: 'never' })
        await append(fixture.store, id, top, { status: 'running', due: 5000, driver: 'a' })
        await fixture.step(KEEP_MS + 1)
        assert.deepEqual((await fixture.store.take('b', 10, 1000)).ids, [id])
        assert.equal((await readAll(fixture.store, id)).length, 2)
        assert.equal((await fixture.store.list({ limit: 10 })).heads.length, 1)
      })
    })

    describe('a watch', () => {
      interface Heard { readonly appends: number[], readonly live: unknown[] }

      function listen (): Heard & SessionListener {
        const heard: Heard = { appends: [], live: [] }
        return { ...heard, onAppend: seq => heard.appends.push(seq), onLive: live => heard.live.push(live), onGap () {} }
      }

      test('hears of appends and of what is published, in every client, in order', async t => {
        const id = newId()
        const top = await append(fixture.store, id)
        const listeners = [listen(), listen()] as const
        t.after(await fixture.store.watch(id, listeners[0]))
        t.after(await fixture.another().watch(id, listeners[1]))
        const second = await append(fixture.store, id, top)
        fixture.store.publish(id, { type: 'delta', text: '神 \n\0' })
        fixture.store.publish(id, { text: 'b' })
        await append(fixture.another(), id, second)
        await waitFor('both to hear all', () => listeners.every(({ appends, live }) => appends.length === 2 && live.length === 2))
        for (const { appends, live } of listeners) {
          assert.deepEqual(appends, [2, 3])
          assert.deepEqual(live, [{ type: 'delta', text: '神 \n\0' }, { text: 'b' }])
        }
      })

      test('hears nothing of refused appends, of other sessions, and after its end', async t => {
        const [id, other] = [newId(), newId()]
        const [ended, others] = [listen(), listen()]
        const end = await fixture.store.watch(id, ended)
        t.after(await fixture.store.watch(other, others))
        const first = appendOf(id, undefined)
        await fixture.store.append(first)
        await fixture.store.append(first)
        await waitFor('the append', () => ended.appends.length > 0)
        end()
        end()
        await append(fixture.store, id, positionOf(first))
        await append(fixture.store, other)
        await waitFor('the other session', () => others.appends.length === 1)
        assert.deepEqual([ended.appends, others.appends], [[1], [1]])
      })

      test('goes on when another one of the same session ends', async t => {
        const id = newId()
        const [one, other] = [listen(), listen()]
        const end = await fixture.store.watch(id, one)
        t.after(await fixture.store.watch(id, other))
        end()
        await append(fixture.store, id)
        await waitFor('the append', () => other.appends.length === 1)
        assert.deepEqual(one.appends, [])
      })

      test('costs nothing where nobody listens', () => {
        fixture.store.publish(newId(), { text: 'a' })
        fixture.store.publish('no id', { text: 'a' })
      })
    })
  })

  describe(`session store: ${variant.title}, closed`, () => {
    test('refuses everything and says so', async t => {
      const fixture = await variant.open()
      t.after(() => fixture.remove())
      const { store } = fixture
      await append(store, newId())
      await store.watch(newId(), { onAppend () {}, onLive () {}, onGap () {} })
      await Promise.all([store.close(), store.close()])
      await store.close()
      const closed = new SessionStoreError('the store is closed')
      await assert.rejects(store.append(appendOf(newId(), undefined)), closed)
      await assert.rejects(readAll(store, newId()), closed)
      await assert.rejects(store.head(newId()), closed)
      await assert.rejects(store.list({ limit: 1 }), closed)
      await assert.rejects(store.take('a', 1, 1), closed)
      await assert.rejects(store.renew('a', [newId()], 1), closed)
      await assert.rejects(store.watch(newId(), { onAppend () {}, onLive () {}, onGap () {} }), closed)
      store.publish(newId(), {})
      assert.equal(store.problem(), 'the store is closed')
    })

    test('that was never used closes at once', async t => {
      const fixture = await variant.open()
      t.after(() => fixture.remove())
      await fixture.store.close()
    })
  })
}

/** Whether a time of the store is what it should be, but for what has passed since. */
function assertAbout (actual: number | undefined, expected: number): void {
  assert.ok(actual !== undefined && actual <= expected && actual > expected - 5000, `${actual} is not about ${expected}`)
}
