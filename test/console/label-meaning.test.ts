import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { brokenWithout, countPrompts, heaviest, splitMeaning } from '../../console/prompts/releases/meaning.ts'

const SPLITS: ReadonlyArray<readonly [title: string, ...Parameters<typeof splitMeaning>, meaning: unknown]> = [
  ['all of it', 9, 100, 7, 9],
  ['none of it', 9, 0, 7, 7],
  ['the least part', 9, 1, 7, [{ version: 9, weight: 1 }, { version: 7, weight: 99 }]],
  ['the largest part', 9, 99, 7, [{ version: 9, weight: 99 }, { version: 7, weight: 1 }]],
  ['all where there is nothing else', 9, 5, undefined, 9],
  ['what is no version yet, as a whole', 'latest', 5, 7, 'latest']
]

const user = (id: string, through: readonly string[] = [], pins?: readonly string[]) => ({ id, through, pins })
const USERS = [user('a', ['b']), user('a@live', ['b']), user('b', [], ['7', 'next']), user('c'), user('d@live', [], ['next']), user('e', ['f']), user('f', [], ['other'])]

describe('What a label is given to mean', () => {
  for (const [title, to, share, rest, meaning] of SPLITS) it(`is ${title}`, () => { assert.deepEqual(splitMeaning(to, share, rest), meaning) })

  it('is for most callers its weightiest version', () => {
    assert.deepEqual([heaviest(7), heaviest([{ version: 9, weight: 5 }, { version: 7, weight: 95 }]), heaviest('latest'), heaviest(undefined)], [7, 7, 'latest', undefined])
  })
})

describe('Of the prompts that include a prompt,', () => {
  it('each counts once, however many of its labels do', () => { assert.equal(countPrompts(USERS), 6) })

  it('those break without a label whose text, or whose partial, names it', () => {
    assert.deepEqual(brokenWithout(USERS, 'next'), ['a', 'a@live', 'b', 'd@live'])
    assert.deepEqual(brokenWithout(USERS, 'live'), [])
  })
})
