import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { compareNames, EnvironIndex, NameList, NameListBuilder } from '../../src/registry/kinds/environ-names.ts'
import { heapInUse } from '../helpers/garbage.ts'
import { property } from '../helpers/property.ts'

function indexOf (...names: string[]): EnvironIndex {
  const index = new EnvironIndex()
  index.replace(NameList.of(names))
  return index
}

describe('EnvironIndex', () => {
  const index = indexOf('chat.1.title', 'chat.10.title', 'chat', 'chat-old.x', 'model', 'vscode.rules', 'vscode.editor.tab')

  it('knows whether a name exists', () => {
    assert.equal(index.has('vscode.rules'), true)
    assert.equal(index.has('vscode'), false)
  })

  it('knows whether names lie below one', () => {
    assert.equal(index.hasBelow('vscode'), true)
    assert.equal(index.hasBelow('chat.1'), true)
    assert.equal(index.hasBelow('vscode.rules'), false)
    assert.equal(index.hasBelow('vsc'), false)
  })

  it('lists names below one and leaves out neighbours that begin alike', () => {
    assert.deepEqual(index.namesBelow('chat', 10), ['chat.1.title', 'chat.10.title'])
  })

  it('gives undefined instead of more names than the limit', () => {
    assert.equal(index.namesBelow('chat', 1), undefined)
  })

  it('lists the segments that follow a name, each once', () => {
    assert.deepEqual(index.segmentsBelow('chat'), ['1', '10'])
    assert.deepEqual(index.segmentsBelow('vscode'), ['editor', 'rules'])
    assert.deepEqual(index.segmentsBelow(''), ['chat', 'chat-old', 'model', 'vscode'])
  })

  it('pages through names by prefix and cursor', () => {
    assert.deepEqual(index.page('vscode.', '', 10), ['vscode.editor.tab', 'vscode.rules'])
    assert.deepEqual(index.page('', 'chat.10.title', 1), ['model'])
    assert.deepEqual(index.page('vscode.', 'vscode.editor.tab', 10), ['vscode.rules'])
  })

  it('keeps nothing of the large text that a name was cut out of', () => {
    const before = heapInUse()
    for (let count = 0; count < 50; count++) {
      const text = `module number ${count} `.padEnd(1024 * 1024, 'and so on ')
      assert.equal(index.has(text.slice(0, 40)) || index.hasBelow(text.slice(0, 40)), false)
    }
    assert.ok(heapInUse() - before < 10 * 1024 * 1024)
  })

  it('keeps nothing of a name that is a large text', () => {
    const before = heapInUse()
    for (let count = 0; count < 50; count++) assert.equal(index.has(`${count}`.padEnd(1024 * 1024, 'and so on ')), false)
    assert.ok(heapInUse() - before < 10 * 1024 * 1024)
  })

  it('takes prototype words as names', () => {
    assert.deepEqual(indexOf('__proto__.x', 'constructor').segmentsBelow(''), ['__proto__', 'constructor'])
  })

  const segment = fc.constantFrom('a', 'b', 'a-b', 'a1', 'é', 'aa', '\u{1F409}', '\uFFFD')
  const name = fc.array(segment, { minLength: 1, maxLength: 4 }).map(segments => segments.join('.'))

  function assertSame (index: EnvironIndex, names: ReadonlySet<string>, wanted: string): void {
    const sorted = [...names].sort(compareNames)
    const below = sorted.filter(each => each.startsWith(`${wanted}.`))
    assert.equal(index.size, names.size)
    assert.deepEqual([...index], sorted)
    assert.equal(index.has(wanted), names.has(wanted))
    assert.equal(index.hasBelow(wanted), below.length > 0)
    assert.deepEqual(index.namesBelow(wanted, 100), below)
    assert.deepEqual(index.segmentsBelow(wanted), [...new Set(below.map(each => each.slice(wanted.length + 1).split('.')[0]))].sort())
    assert.deepEqual(index.page(wanted, '', 3), sorted.filter(each => each.startsWith(wanted)).slice(0, 3))
    assert.deepEqual(index.page('', wanted, 3), sorted.filter(each => compareNames(each, wanted) > 0).slice(0, 3))
  }

  property('answers as a plain search does, for any names', 100, given => {
    given.holds(fc.property(fc.uniqueArray(name, { maxLength: 30 }), name, (names, wanted) => {
      assertSame(indexOf(...names), new Set(names), wanted)
    }))
  })

  property('answers so after any changes, and after a listing that was made meanwhile', 100, given => {
    const changes = fc.array(fc.tuple(name, fc.boolean()), { maxLength: 12 })
    given.holds(fc.property(fc.uniqueArray(name, { maxLength: 20 }), fc.array(changes, { maxLength: 4 }), fc.nat(4), name, (names, batches, listingAt, wanted) => {
      const index = indexOf(...names)
      const present = new Set(names)
      let listing: NameList | undefined
      for (const [position, batch] of batches.entries()) {
        if (position === listingAt) {
          index.beginListing()
          listing = NameList.of([...present])
        }
        for (const [each, exists] of batch) {
          // Asked before the change, so that nothing that was remembered may survive it.
          index.has(each)
          index.hasBelow(wanted)
          if (exists) present.add(each)
          else present.delete(each)
        }
        index.apply(new Map(batch))
        assertSame(index, present, wanted)
      }
      if (listing !== undefined) index.replace(listing)
      assertSame(index, present, wanted)
    }))
  })

  it('builds the same list from names in any order, with repeats', async () => {
    const names = Array.from({ length: 20_000 }, (_, position) => `chat.${(position * 7919) % 15_000}.title`)
    const builder = new NameListBuilder()
    for (let start = 0; start < names.length; start += 700) await builder.add(names.slice(start, start + 700))
    const index = new EnvironIndex()
    index.replace(await builder.finish())
    assert.deepEqual([...index], [...new Set(names)].sort())
  })
})
