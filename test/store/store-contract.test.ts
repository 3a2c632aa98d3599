import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test, type TestContext } from 'node:test'
import { MAX_VALUE_BYTES, StoreError, type StoredValue } from '../../src/store/store.ts'
import { listAll } from '../helpers/list-all.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { KEY_PREFIX, VARIANTS, type StoreFixture } from './store-variants.ts'

const text = (value: string): StoredValue => ({ kind: 'text', text: value })

const BAD_VALUES: readonly { title: string, value: Uint8Array, reason: RegExp }[] = [
  { title: 'over the size limit', value: Buffer.alloc(MAX_VALUE_BYTES + 1, 'a'), reason: /^is 1048577 bytes long; at most 1048576/ },
  { title: 'far over the size limit', value: Buffer.alloc(50 * MAX_VALUE_BYTES, 'a'), reason: /^is 52428800 bytes long/ },
  { title: 'that is not UTF-8', value: Buffer.from([0x22, 0xc3, 0xa9, 0xff, 0x22]), reason: /^is not valid UTF-8 \(first wrong byte: 3\)/ },
  { title: 'in UTF-16', value: Buffer.from('\uFEFF{}', 'utf16le'), reason: /^is not valid UTF-8 \(first wrong byte: 0\)/ },
  { title: 'with a byte order mark', value: Buffer.from('\uFEFF{}'), reason: /byte order mark/ }
]

const GOOD_VALUES: readonly { title: string, value: string }[] = [
  { title: 'an empty value', value: '' },
  { title: 'JSON that is broken', value: '{"a":' },
  { title: 'text beyond the ASCII range', value: '"神码 \u{1F409} é \u0000 \uFFFD"' },
  { title: 'line ends of all kinds', value: '"a"\r\n\t \n\r' },
  { title: 'a value of 64 KiB', value: 'é'.repeat(32 * 1024) },
  { title: 'a value of 64 KiB and a byte', value: `a${'é'.repeat(32 * 1024)}` },
  { title: 'a value of exactly the size limit', value: 'a'.repeat(MAX_VALUE_BYTES) }
]

const UNUSUAL_KEYS = [
  'shenma:templates:写作:评估',
  'shenma:templates:été',
  'shenma:templates:\u{1F409}',
  'shenma:templates:a b',
  'shenma:templates:a*b?c[d]',
  "shenma:templates:it's",
  'shenma:templates:a.b',
  'shenma:environs:__proto__:x',
  'shenma:environs:constructor'
]

for (const variant of VARIANTS) {
  describe(`${variant.title} store`, () => {
    let fixture: StoreFixture

    before(async () => { fixture = await variant.open() })
    beforeEach(() => fixture.clear())
    after(() => fixture.remove())

    async function setAll (keys: readonly string[]): Promise<void> {
      for (const key of keys) await fixture.set(key, JSON.stringify(key))
    }

    async function list (prefix: string): Promise<readonly string[]> {
      return [...await listAll(fixture.store, prefix)].sort()
    }

    /** Watches until the end of the test; gives all keys that were told so far, `*` for "anything". */
    async function watch (t: TestContext): Promise<Set<string>> {
      const told = new Set<string>()
      const stop = await fixture.store.watch(keys => {
        for (const key of keys ?? ['*']) told.add(key)
      })
      t.after(stop)
      return told
    }

    test('says which variant it is and how changes arrive', () => {
      assert.equal(fixture.store.variant, variant.name)
      assert.deepEqual(fixture.store.status(), { connected: true, changes: variant.pushes ? 'pushed' : 'polled' })
    })

    test('lists nothing when it is empty', async () => {
      assert.deepEqual(await list(KEY_PREFIX), [])
    })

    test('lists all keys of all kinds', async () => {
      const keys = ['shenma:environs:vscode:frameworks', 'shenma:extensions:a', 'shenma:templates:a:b:c', 'shenma:tools:a']
      await setAll(keys)
      assert.deepEqual(await list(KEY_PREFIX), keys)
    })

    test('lists the keys below a prefix, and not its neighbours', async () => {
      await setAll(['shenma:environs:a:b', 'shenma:environs:a:c:d', 'shenma:environs:ab:c', 'shenma:environs:a', 'shenma:tools:a:b'])
      assert.deepEqual(await list('shenma:environs:a:'), ['shenma:environs:a:b', 'shenma:environs:a:c:d'])
    })

    test('lists by a prefix that ends within a name', async () => {
      await setAll(['shenma:environs:ab', 'shenma:environs:ac:d', 'shenma:environs:b'])
      assert.deepEqual(await list('shenma:environs:a'), ['shenma:environs:ab', 'shenma:environs:ac:d'])
    })

    test('lists nothing for a prefix that no key has', async () => {
      await setAll(['shenma:tools:a'])
      assert.deepEqual(await list('other:'), [])
    })

    test('takes the characters of a pattern in a prefix literally', async () => {
      await setAll(['shenma:tools:[ab]*:x', 'shenma:tools:a:x', 'shenma:tools:aa:x'])
      assert.deepEqual(await list('shenma:tools:[ab]*:'), ['shenma:tools:[ab]*:x'])
    })

    test('lists and reads 5,000 keys, each once', async () => {
      const keys = Array.from({ length: 5000 }, (_, index) => `shenma:environs:m${index % 50}:${index}`)
      await Promise.all(keys.map(key => fixture.set(key, key)))
      assert.deepEqual(await list(KEY_PREFIX), keys.toSorted())
      assert.deepEqual(await fixture.store.read(keys), keys.map(text))
    })

    test('reads nothing when it is asked for nothing', async () => {
      assert.deepEqual(await fixture.store.read([]), [])
    })

    test('gives the results in the order of the keys, misses and repeats too', async () => {
      await setAll(['shenma:tools:a', 'shenma:tools:b'])
      assert.deepEqual(await fixture.store.read(['shenma:tools:b', 'shenma:tools:x', 'shenma:tools:a', 'shenma:tools:b']), [
        text('"shenma:tools:b"'), { kind: 'missing' }, text('"shenma:tools:a"'), text('"shenma:tools:b"')
      ])
    })

    test('gives a miss for keys that no one can write', async () => {
      const keys = ['', 'shenma:', 'shenma:tools', 'shenma:tools:', 'other:tools:a', 'shenma:tools:../../etc/passwd', 'shenma:tools:..:a', 'shenma:tools:a\0b', `shenma:tools:${'x'.repeat(5000)}`]
      assert.deepEqual(await fixture.store.read(keys), keys.map(() => ({ kind: 'missing' })))
    })

    for (const key of UNUSUAL_KEYS) {
      test(`keeps the key ${key}`, async () => {
        await setAll([key])
        assert.deepEqual(await list(KEY_PREFIX), [key])
        assert.deepEqual(await fixture.store.read([key]), [text(JSON.stringify(key))])
      })
    }

    for (const { title, value } of GOOD_VALUES) {
      test(`gives ${title} as it is`, async () => {
        await fixture.set('shenma:tools:a', value)
        assert.deepEqual(await fixture.store.read(['shenma:tools:a']), [text(value)])
      })
    }

    for (const { title, value, reason } of BAD_VALUES) {
      test(`gives a value ${title} as bad, and its neighbours as they are`, async () => {
        await setAll(['shenma:tools:a', 'shenma:tools:c'])
        await fixture.set('shenma:tools:b', value)
        const [first, bad, last] = await fixture.store.read(['shenma:tools:a', 'shenma:tools:b', 'shenma:tools:c'])
        assert.deepEqual([first, last], [text('"shenma:tools:a"'), text('"shenma:tools:c"')])
        assert.match(bad?.kind === 'bad' ? bad.reason : `${bad?.kind}`, reason)
      })
    }

    test('gives the new value after a write and a miss after a delete', async () => {
      await fixture.set('shenma:tools:a', '1')
      await fixture.set('shenma:tools:a', '2')
      assert.deepEqual(await fixture.store.read(['shenma:tools:a']), [text('2')])
      await fixture.delete('shenma:tools:a')
      assert.deepEqual(await fixture.store.read(['shenma:tools:a']), [{ kind: 'missing' }])
      assert.deepEqual(await list(KEY_PREFIX), [])
    })

    test('stores a new text, and tells it from one that replaces another', async () => {
      assert.equal(await fixture.store.write('shenma:tools:a', '{"a":1}'), 'created')
      assert.equal(await fixture.store.write('shenma:tools:a', '{"a":2}'), 'replaced')
      assert.deepEqual(await fixture.store.read(['shenma:tools:a']), [text('{"a":2}')])
      assert.deepEqual(await list(KEY_PREFIX), ['shenma:tools:a'])
    })

    test('stores nothing over another text than the expected one', async () => {
      await fixture.set('shenma:tools:a', '2')
      assert.equal(await fixture.store.write('shenma:tools:a', '3', { kind: 'text', text: '1' }), 'conflict')
      assert.equal(await fixture.store.write('shenma:tools:a', '3', { kind: 'missing' }), 'conflict')
      assert.equal(await fixture.store.write('shenma:tools:b', '3', { kind: 'text', text: '1' }), 'conflict')
      assert.deepEqual(await fixture.store.read(['shenma:tools:a', 'shenma:tools:b']), [text('2'), { kind: 'missing' }])
    })

    test('stores over exactly the expected text, and where nothing is expected', async () => {
      await fixture.set('shenma:tools:a', '"神码 \u{1F409}"')
      assert.equal(await fixture.store.write('shenma:tools:a', '2', { kind: 'text', text: '"神码 \u{1F409}"' }), 'replaced')
      assert.equal(await fixture.store.write('shenma:tools:b', '2', { kind: 'missing' }), 'created')
      assert.deepEqual(await fixture.store.read(['shenma:tools:a', 'shenma:tools:b']), [text('2'), text('2')])
    })

    test('lets one of many writers win who all expect the same', async () => {
      await fixture.set('shenma:tools:a', '0')
      const outcomes = await Promise.all(Array.from({ length: 20 }, (_, index) => fixture.store.write('shenma:tools:a', `${index + 1}`, { kind: 'text', text: '0' })))
      assert.deepEqual(outcomes.toSorted(), [...Array<string>(19).fill('conflict'), 'replaced'])
      assert.deepEqual(await fixture.store.read(['shenma:tools:a']), [text(`${outcomes.indexOf('replaced') + 1}`)])
    })

    test('removes a key, and says when there is none', async () => {
      await setAll(['shenma:tools:a', 'shenma:tools:b'])
      assert.equal(await fixture.store.remove('shenma:tools:a'), 'removed')
      assert.equal(await fixture.store.remove('shenma:tools:a'), 'missing')
      assert.deepEqual(await list(KEY_PREFIX), ['shenma:tools:b'])
    })

    test('removes nothing but the expected text', async () => {
      await fixture.set('shenma:tools:a', '1')
      assert.equal(await fixture.store.remove('shenma:tools:a', { kind: 'text', text: '2' }), 'conflict')
      assert.equal(await fixture.store.remove('shenma:tools:a', { kind: 'missing' }), 'conflict')
      assert.equal(await fixture.store.remove('shenma:tools:a', { kind: 'text', text: '1' }), 'removed')
      assert.deepEqual(await fixture.store.read(['shenma:tools:a']), [{ kind: 'missing' }])
    })

    test('replaces and removes a value that it cannot read', async () => {
      await fixture.set('shenma:tools:a', Buffer.from([0xff]))
      assert.equal(await fixture.store.write('shenma:tools:a', '1', { kind: 'text', text: '\uFFFD' }), 'conflict')
      assert.equal(await fixture.store.write('shenma:tools:a', '1'), 'replaced')
      await fixture.set('shenma:tools:a', Buffer.from([0xff]))
      assert.equal(await fixture.store.remove('shenma:tools:a'), 'removed')
    })

    for (const key of UNUSUAL_KEYS) {
      test(`writes and removes the key ${key}`, async () => {
        assert.equal(await fixture.store.write(key, '1'), 'created')
        assert.deepEqual([await list(KEY_PREFIX), await fixture.store.read([key])], [[key], [text('1')]])
        assert.equal(await fixture.store.remove(key), 'removed')
      })
    }

    test('writes a text of exactly the size limit', async () => {
      const long = `"${'é'.repeat((MAX_VALUE_BYTES - 2) / 2)}"`
      assert.equal(await fixture.store.write('shenma:tools:a', long), 'created')
      assert.deepEqual(await fixture.store.read(['shenma:tools:a']), [text(long)])
    })

    test('a watch that was ended twice stays ended', async () => {
      const stop = await fixture.store.watch(() => {})
      await stop()
      await stop()
    })

    if (variant.pushes) {
      test('tells a watcher of a new key, a write and a delete', async t => {
        await fixture.set('shenma:tools:a', '1')
        const told = await watch(t)
        await fixture.set('shenma:tools:a', '2')
        await waitFor('the write', () => heard(told, 'shenma:tools:a'))
        told.clear()
        await fixture.delete('shenma:tools:a')
        await waitFor('the delete', () => heard(told, 'shenma:tools:a'))
        await fixture.set('shenma:tools:b', '1')
        await waitFor('the new key', () => heard(told, 'shenma:tools:b'))
      })

      test('tells a watcher of its own writes and removals', async t => {
        const told = await watch(t)
        await fixture.store.write('shenma:tools:a', '1')
        await waitFor('the write', () => heard(told, 'shenma:tools:a'))
        told.clear()
        await fixture.store.remove('shenma:tools:a')
        await waitFor('the removal', () => heard(told, 'shenma:tools:a'))
      })

      test('tells every one of several watchers', async t => {
        await fixture.set('shenma:tools:a', '1')
        const told = [await watch(t), await watch(t)]
        await fixture.set('shenma:tools:a', '2')
        await waitFor('both', () => told.every(keys => heard(keys, 'shenma:tools:a')))
      })

      test('tells nothing after the watch has ended', async t => {
        await fixture.set('shenma:tools:a', '1')
        let calls = 0
        const stop = await fixture.store.watch(() => { calls++ })
        const others = await watch(t)
        await stop()
        calls = 0
        await fixture.set('shenma:tools:a', '2')
        await waitFor('another watcher', () => heard(others, 'shenma:tools:a'))
        assert.equal(calls, 0)
      })
    }
  })

  describe(`${variant.title} store, closed`, () => {
    test('refuses questions and says so', async t => {
      const fixture = await variant.open()
      t.after(() => fixture.remove())
      await fixture.store.close()
      await assert.rejects(listAll(fixture.store, KEY_PREFIX), new StoreError('the store is closed'))
      await assert.rejects(fixture.store.read(['shenma:tools:a']), new StoreError('the store is closed'))
      await assert.rejects(fixture.store.write('shenma:tools:a', '1'), new StoreError('the store is closed'))
      await assert.rejects(fixture.store.remove('shenma:tools:a'), new StoreError('the store is closed'))
      assert.equal(fixture.store.status().connected, false)
    })

    test('can be closed again, and while it watches', async t => {
      const fixture = await variant.open()
      t.after(() => fixture.remove())
      await fixture.store.watch(() => {})
      await Promise.all([fixture.store.close(), fixture.store.close()])
      await fixture.store.close()
    })
  })
}

/** Whether a watcher was told of the key, or that anything may have changed: after a connection was lost, nobody knows more. */
function heard (told: ReadonlySet<string>, key: string): boolean {
  return told.has(key) || told.has('*')
}
