import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SessionList, type SessionQuery } from '../../../src/service/sessions/session-list.ts'
import { type Fact, type Head } from '../../../src/session/model.ts'
import { createMemorySessionStore } from '../../../src/session/store/memory-session-store.ts'
import type { SessionStore } from '../../../src/session/store/session-store.ts'
import { appendOf, type AppendWishes, newId, positionOf } from '../../session/store/session-appends.ts'

interface Written extends AppendWishes, Pick<Partial<Head>, 'title' | 'problem' | 'children'> { readonly id?: string }

/** A head of an earlier version has no title, no problem and no word. */
async function write (store: SessionStore, { id = newId(), title, problem, children, ...wishes }: Written, isOld = false): Promise<string> {
  const append = appendOf(id, undefined, wishes)
  await store.append({ ...append, head: { ...append.head, children, ...(isOld ? {} : { word: 'await_input', title, problem }) } })
  return id
}

const titles = async (store: SessionStore, query: Omit<SessionQuery, 'limit'>) =>
  (await new SessionList(store).page({ limit: 10, ...query })).heads.map(({ title }) => title)

describe('A list of sessions', () => {
  const store = createMemorySessionStore({ keep: 3_600_000 })
  const written = (async () => {
    await write(store, { title: 'Why is it slow?', definition: 'agents/helper', createdAt: 5, status: 'waiting_input' })
    await write(store, { title: 'Mend the test', definition: 'plans/fix', createdAt: 4, status: 'failed', problem: { code: 'MODEL_DOWN', message: 'no answer' } })
    await write(store, { title: 'weekly notes', definition: 'skills/release-notes', createdAt: 3, status: 'running' })
    const root = newId()
    const child = await write(store, { status: 'waiting_approval', above: { parent: root, root } })
    await write(store, { id: root, title: 'research', definition: 'agents/guide', createdAt: 2, status: 'running', children: [child] })
    await write(store, { title: 'old words', createdAt: 1, status: 'completed' })
  })()

  for (const [title, query, expected] of [
    ['has all', {}, ['Why is it slow?', 'Mend the test', 'weekly notes', 'research', 'old words']],
    ['has those whose title has a word, in any case', { text: 'TEST' }, ['Mend the test']],
    ['has those that have all words, in any order', { text: 'slow why' }, ['Why is it slow?']],
    ['has none where one word is missing', { text: 'slow fast' }, []],
    ['is searched by definition', { text: 'release' }, ['weekly notes']],
    ['is searched by what went wrong', { text: 'model_down' }, ['Mend the test']],
    ['has what waits for a person, also below', { status: 'waiting' }, ['Why is it slow?', 'research']],
    ['has what is open', { status: 'open' }, ['Why is it slow?', 'weekly notes', 'research']],
    ['has what has ended', { status: 'ended' }, ['Mend the test', 'old words']],
    ['has one status', { status: 'running' }, ['weekly notes', 'research']],
    ['has a status and words', { status: 'ended', text: 'words' }, ['old words']]
  ] as const) {
    it(title, async () => {
      await written
      assert.deepEqual(await titles(store, query), expected)
    })
  }

  it('is searched by id', async () => {
    const id = await write(store, { title: 'by its id' })
    assert.deepEqual(await titles(store, { text: id.slice(4, 20) }), ['by its id'])
  })
})

describe('A list of sessions that an earlier version has written', () => {
  it('has titles and problems from their logs, and is searched by them', async () => {
    const store = createMemorySessionStore({ keep: 3_600_000 })
    const id = newId()
    const first = appendOf(id, undefined, { text: 'Why is it slow?' })
    const fact: Fact = { kind: 'stopped', by: 'budget', reason: 'all tokens are used' }
    const last = appendOf(id, positionOf(first), { status: 'failed' })
    await store.append(first)
    await store.append({ ...last, entry: { ...last.entry, text: JSON.stringify({ ...last.transition, fact, notices: [] }) } })
    const { heads: [found] } = await new SessionList(store).page({ limit: 10, text: 'slow tokens' })
    assert.deepEqual([found?.title, found?.problem], ['Why is it slow?', { code: 'budget', message: 'all tokens are used' }])
  })

  it('has one without a title where its log is damaged', async () => {
    const store = createMemorySessionStore({ keep: 3_600_000 })
    const append = appendOf(newId(), undefined)
    await store.append({ ...append, entry: { ...append.entry, text: '{"seq":1,"fact":7}' } })
    await write(store, { title: 'another' })
    assert.deepEqual((await titles(store, {})).toSorted(), [undefined, 'another'].toSorted())
  })
})

describe('A search in many sessions', () => {
  it('gives pages that together have each of them once', async () => {
    const store = createMemorySessionStore({ keep: 3_600_000 })
    for (let index = 0; index < 2500; index++) await write(store, { title: index % 100 === 7 ? `needle ${index}` : 'hay', createdAt: index })
    const list = new SessionList(store)
    const found: string[] = []
    let cursor: string | undefined
    do {
      const { heads, next } = await list.page({ limit: 10, text: 'needle', cursor })
      found.push(...heads.map(({ title = '' }) => title))
      cursor = next
    } while (cursor !== undefined)
    assert.deepEqual(found, Array.from({ length: 25 }, (_, index) => `needle ${2407 - 100 * index}`))
  })

  it('reads a part of them in one page, and says where it goes on', async () => {
    const store = createMemorySessionStore({ keep: 3_600_000 })
    for (let index = 0; index < 5001; index++) await write(store, { title: index === 0 ? 'needle' : 'hay', createdAt: index })
    const list = new SessionList(store)
    const first = await list.page({ limit: 10, text: 'needle' })
    assert.equal(first.heads.length, 0)
    assert.deepEqual((await list.page({ limit: 10, text: 'needle', cursor: first.next })).heads.map(({ title }) => title), ['needle'])
  })
})
