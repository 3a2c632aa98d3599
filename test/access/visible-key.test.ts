import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NamePatterns } from '../../src/access/caller.ts'
import { isVisibleEntry, isVisibleKey } from '../../src/access/rights.ts'
import { type Generation } from '../../src/registry/generation.ts'
import { KINDS } from '../../src/registry/kind-table.ts'

const generation = { extensions: new Map([['mine', {}]]) } as unknown as Generation
const patterns = new NamePatterns(['team.*'])
const NONE = { prompts: undefined, environs: undefined, runs: undefined }
const BY_PROMPTS = { ...NONE, prompts: patterns }
const BY_ENVIRONS = { ...NONE, environs: patterns }
const BY_RUNS = { ...BY_PROMPTS, runs: new NamePatterns(['skills.team.*']) }

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

  it('of what may be run is hidden from who has patterns, but for what they allow to run', () => {
    const kind = { key: 'skills', name: 'skills', access: 'runs' } as const
    const visible = (path: string) => [NONE, BY_PROMPTS, BY_ENVIRONS, BY_RUNS].map(caller => isVisibleEntry(kind, path, { ...caller, extensions: generation.extensions }))
    assert.deepEqual([visible('team.a'), visible('other.a')], [[true, false, false, true], [true, false, false, false]])
  })
})
