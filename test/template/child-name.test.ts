import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { childName } from '../../src/template/scope.ts'
import { heapInUse } from '../helpers/garbage.ts'

const MEGABYTE = 1024 * 1024

describe('childName', () => {
  it('joins a name and a segment, however often it is asked', () => {
    assert.deepEqual([childName('vscode', 'rules'), childName('vscode', 'rules')], ['vscode.rules', 'vscode.rules'])
    assert.equal(childName('vscode.rules', 'tab'), 'vscode.rules.tab')
  })

  it('joins names of any length', () => {
    const long = 'x'.repeat(MEGABYTE)
    assert.equal(childName('vscode', long), `vscode.${long}`)
  })

  it('takes prototype words as names', () => {
    assert.equal(childName('__proto__', 'constructor'), '__proto__.constructor')
  })

  it('still joins once callers have made up more names than are kept', () => {
    for (let index = 0; index < 50_000; index++) childName('made', `up${index}`)
    assert.equal(childName('made', 'up0'), 'made.up0')
  })

  it('keeps nothing of the large text that a segment was cut out of', () => {
    const before = heapInUse()
    for (let index = 0; index < 50; index++) {
      const text = `segment number ${index} `.padEnd(MEGABYTE, 'and so on ')
      childName('cut', text.slice(0, 40))
    }
    assert.ok(heapInUse() - before < 10 * MEGABYTE)
  })
})
