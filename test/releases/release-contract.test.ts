import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test'
import { type Store, StoreError, type StoredValue } from '../../src/store/store.ts'
import { type Answer, openReplica, type Replica } from '../helpers/replica.ts'
import { type StoreFixture, VARIANTS } from '../store/store-variants.ts'

const PLAIN = 'shenma:templates:review:short'
const RECORD = 'shenma:releases:review:short'
const VERSION = 'shenma:versions:review:short:'

interface History { readonly latest?: number, readonly labels: Readonly<Record<string, unknown>>, readonly versions: ReadonlyArray<{ readonly n: number, readonly by: string, readonly from?: number }>, readonly moves: readonly object[] }

for (const variant of VARIANTS) {
  describe(`releases over ${variant.title}`, () => {
    let fixture: StoreFixture

    before(async () => { fixture = await variant.open() })
    beforeEach(() => fixture.clear())
    after(() => fixture.remove())

    async function replica (t: TestContext, store: Store = fixture.store): Promise<Replica> {
      const opened = await openReplica(store)
      t.after(() => opened.close())
      return opened
    }

    async function history ({ call }: Replica): Promise<History> {
      return (await call('GET', '/api/prompts/review.short/versions')).body as History
    }

    const move = ({ call }: Replica, label: string, version: unknown, headers?: Record<string, string>): Promise<Answer> => call('PUT', `/api/prompts/review.short/labels/${label}`, { version }, headers)

    it('publish, label, roll back and restore', async t => {
      const [one, other] = [await replica(t), await replica(t)]
      assert.equal((await one.put('review.short', 'first')).status, 201)
      assert.equal((await move(one, 'production', 1)).status, 200)
      await one.put('review.short', 'second')
      await other.renders('review.short', 'second')
      await other.renders('review.short@production', 'first')
      assert.equal((await move(other, 'production', 'latest')).status, 200)
      await one.renders('review.short@production', 'second')
      assert.equal((await move(one, 'production', 1)).status, 200)
      await other.renders('review.short@production', 'first')
      assert.equal((await one.call('POST', '/api/prompts/review.short/versions/1/restore')).status, 200)
      await other.renders('review.short', 'first')
      const { latest, versions, labels, moves } = await history(one)
      assert.deepEqual([latest, versions.map(({ n, from }) => [n, from]), labels, moves.length], [3, [[3, 1], [2, undefined], [1, undefined]], { production: 1 }, 3])
    })

    it('let one of two writers with the same ETag through', async t => {
      const [one, other] = [await replica(t), await replica(t)]
      const { headers } = await one.put('review.short', 'first')
      const answers = await Promise.all([one, other].map((each, index) => each.put('review.short', `by ${index}`, { 'if-match': String(headers['etag']) })))
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412])
      const winner = `by ${answers.findIndex(({ status }) => status === 200)}`
      await one.renders('review.short', winner)
      await one.renders(`review.short@${(await history(one)).latest}`, winner)
    })

    it('let one of two movers with the same ETag through', async t => {
      const [one, other] = [await replica(t), await replica(t)]
      await one.put('review.short', 'first')
      await one.put('review.short', 'second')
      const tag = String((await move(one, 'production', 1)).headers['etag'])
      const answers = await Promise.all([one, other].map((each, index) => move(each, 'production', index + 1, { 'if-match': tag })))
      // Who moves it to where it is changes nothing.
      assert.ok(answers.filter(({ status }) => status === 200).length >= 1)
      assert.equal((await move(one, 'production', 2, { 'if-match': '"gone"' })).status, 412)
    })

    it('record what was stored by somebody else before it is overwritten or removed', async t => {
      const one = await replica(t)
      await fixture.set(PLAIN, '"by hand"')
      await one.put('review.short', 'over HTTP')
      await fixture.set(PLAIN, '"by hand again"')
      assert.equal((await one.call('DELETE', '/api/prompts/review.short')).status, 204)
      assert.deepEqual((await history(one)).versions.map(({ by }) => by), ['store', 'anyone', 'store'])
      await one.renders('review.short@3', 'by hand again')
    })

    it('keep a prompt that has labels', async t => {
      const one = await replica(t)
      await one.put('review.short', 'first')
      await move(one, 'production', 'latest')
      assert.equal((await one.call('DELETE', '/api/prompts/review.short')).status, 409)
      assert.equal((await one.call('DELETE', '/api/prompts/review.short/labels/production')).status, 204)
      assert.equal((await one.call('DELETE', '/api/prompts/review.short')).status, 204)
    })

    for (const [step, prefix] of [['the text of the version', VERSION], ['the record', RECORD], ['the plain key', PLAIN]] as const) {
      it(`lose nothing when a process ends right after it has written ${step}`, async t => {
        const one = await replica(t)
        await one.put('review.short', 'first')
        await move(one, 'production', 1)
        const dying = await replica(t, endingAfter(fixture.store, prefix))
        assert.equal((await dying.put('review.short', 'second')).status, 503)
        const served = JSON.parse(await readText(fixture.store, PLAIN)) as string
        assert.equal(served, step === 'the plain key' ? 'second' : 'first')
        assert.equal(await one.render('review.short@production'), 'first')
        const again = await replica(t)
        assert.equal((await again.put('review.short', 'third')).status, 200)
        const { latest, versions } = await history(again)
        await again.renders('review.short', 'third')
        await again.renders(`review.short@${latest}`, 'third')
        await again.renders('review.short@1', 'first')
        assert.equal(new Set(versions.map(({ n }) => n)).size, versions.length)
      })
    }

    it('adopt a text that a crash has left', async t => {
      const dying = await replica(t, endingAfter(fixture.store, VERSION))
      await dying.put('review.short', 'first')
      const one = await replica(t)
      await one.put('review.short', 'first')
      assert.deepEqual((await history(one)).versions.map(({ n }) => n), [1])
    })

    it('serve the last good version when the one that a label means is not there', async t => {
      const one = await replica(t)
      await one.put('review.short', 'first')
      await move(one, 'production', 1)
      const record = JSON.parse(await readText(fixture.store, RECORD)) as object
      await fixture.set(RECORD, JSON.stringify({ ...record, labels: { production: 9 } }))
      await one.call('POST', '/api/status/reload')
      assert.equal(await one.render('review.short@production'), 'first')
      const problems = (await one.call('GET', '/api/status/entries')).body as ReadonlyArray<{ key?: string, diagnostics: ReadonlyArray<{ code: string }> }>
      assert.deepEqual(problems.map(({ key, diagnostics }) => [key, diagnostics[0]?.code]), [[RECORD, 'VERSION_MISSING']])
      await fixture.set(`${VERSION}9`, JSON.stringify({ entry: 'ninth' }))
      await one.call('POST', '/api/status/reload')
      assert.equal(await one.render('review.short@production'), 'ninth')
    })
  })
}

/** A store that is gone for its process right after a key of that prefix was written. */
function endingAfter (store: Store, prefix: string): Store {
  let isGone = false
  const check = (): void => { if (isGone) throw new StoreError('the process has ended') }
  return {
    ...store,
    async read (keys) {
      check()
      return await store.read(keys)
    },
    async write (key, text, expected) {
      check()
      const outcome = await store.write(key, text, expected)
      isGone = key.startsWith(prefix)
      check()
      return outcome
    }
  }
}

async function readText (store: Store, key: string): Promise<string> {
  const [stored] = await store.read([key])
  return (stored as Extract<StoredValue, { kind: 'text' }>).text
}
