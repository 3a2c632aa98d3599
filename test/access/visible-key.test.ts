import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NamePatterns } from '../../src/access/name-patterns.ts'
import { isVisibleEntry, isVisibleKey } from '../../src/access/visible-key.ts'
import { type Generation } from '../../src/registry/generation.ts'
import { KINDS } from '../../src/registry/kinds/table.ts'

const generation = { extensions: new Map([['mine', {}]]) } as unknown as Generation
const patterns = new NamePatterns(['team.*'])
const NONE = { prompts: undefined, environs: undefined }
const BY_PROMPTS = { prompts: patterns, environs: undefined }
const BY_ENVIRONS = { prompts: undefined, environs: patterns }

describe('a key of the store', () => {
  const cases = [
    ['shenma:templates:team:a', true, true, true],
    ['shenma:templates:other:a', true, false, true],
    ['shenma:environs:team:a', true, true, true],
    ['shenma:environs:other:a', true, true, false],
    ['shenma:extensions:mine', true, true, true],
    ['shenma:extensions:other', true, false, true],
    ['shenma:tools:other:a', true, true, true],
    ['shenma:skills:other:a', true, false, false],
    ['elsewhere:templates:team:a', true, false, false]
  ] as const
  for (const [key, ...wanted] of cases) {
    it(`${key} is there for whom it may be`, () => {
      assert.deepEqual([NONE, BY_PROMPTS, BY_ENVIRONS].map(caller => isVisibleKey(key, { keyPrefix: 'shenma:', kinds: KINDS }, generation, caller)), wanted)
    })
  }

  it('of a kind that patterns say nothing of is hidden from who has some', () => {
    const kind = { key: 'skills', name: 'skills', access: 'unrestricted' } as const
    assert.deepEqual([NONE, BY_PROMPTS, BY_ENVIRONS].map(caller => isVisibleEntry(kind, 'team.a', { ...caller, extensions: generation.extensions })), [true, false, false])
  })
})
