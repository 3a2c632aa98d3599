import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { EnvironIndex } from '../../src/registry/environ-index.ts'

function indexOf (...names: string[]): EnvironIndex {
  const index = new EnvironIndex()
  index.replace([...names].sort())
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

  it('takes prototype words as names', () => {
    assert.deepEqual(indexOf('__proto__.x', 'constructor').segmentsBelow(''), ['__proto__', 'constructor'])
  })

  it('answers as a plain search does, for any names', () => {
    const segment = fc.constantFrom('a', 'b', 'a-b', 'a1', 'é', 'aa')
    const name = fc.array(segment, { minLength: 1, maxLength: 4 }).map(segments => segments.join('.'))
    fc.assert(fc.property(fc.uniqueArray(name, { maxLength: 30 }), name, (names, wanted) => {
      const sorted = [...names].sort()
      const index = indexOf(...names)
      const below = sorted.filter(each => each.startsWith(`${wanted}.`))
      assert.equal(index.has(wanted), names.includes(wanted))
      assert.equal(index.hasBelow(wanted), below.length > 0)
      assert.deepEqual(index.namesBelow(wanted, 100), below)
      assert.deepEqual(index.segmentsBelow(wanted), [...new Set(below.map(each => each.slice(wanted.length + 1).split('.')[0]))].sort())
    }))
  })
})
