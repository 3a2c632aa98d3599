import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { changedWords } from '../../console/approvals/changed-words.ts'

const marked = (before: string, after: string): readonly string[] => changedWords(before, after).map(({ from, to }) => after.slice(from, to))

describe('What differs between two commands', () => {
  it('is nothing between equal ones', () => { assert.deepEqual(marked('ls -la /tmp', 'ls -la /tmp'), []) })
  it('is the word that was put in another\'s place', () => { assert.deepEqual(marked('cat a.txt', 'cat b.txt'), ['b']) })
  it('is what was added, at its place', () => { assert.deepEqual(marked('rm a', 'rm -rf a'), ['-rf']) })
  it('is told word by word where two places differ', () => { assert.deepEqual(marked('cp one to here', 'cp two to there'), ['two', 'there']) })
  it('is one mark for words that stand beside each other', () => { assert.deepEqual(marked('echo a', 'echo b c d'), ['b c d']) })
  it('is a changed sign, too', () => { assert.deepEqual(marked('a > b', 'a | b'), ['|']) })
  it('is the whole middle of texts that are too long to compare', () => {
    const words = (word: string): string => Array.from({ length: 500 }, (_, index) => `${word}${index}`).join(' ')
    assert.equal(marked(`x ${words('a')} y`, `x ${words('b')} y`).length, 1)
  })
})
