import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Json } from '../../../src/base/json.ts'
import { parseReleaseRecord } from '../../../src/registry/kinds/release-record.ts'

const MOVE = { label: 'production', from: null, to: [{ version: 1, weight: 90 }, { version: 2, weight: 10 }], at: '2026-01-01T00:00:00Z', by: 'ada' }

const recordWith = (move: Json): Json => ({ next: 3, labels: {}, versions: [], moves: [move] })

describe('A record of releases', () => {
  it('tells of moves from and to nothing, a version, or several', () => {
    assert.deepEqual(parseReleaseRecord(recordWith(MOVE)).moves, [MOVE])
    const back = { ...MOVE, from: MOVE.to, to: 1, note: 'back' }
    assert.deepEqual(parseReleaseRecord(recordWith(back)).moves, [back])
  })

  for (const [what, wrong] of Object.entries({ 'no label': { label: 1 }, 'no target': { to: 'one' }, 'a share without a weight': { from: [{ version: 1 }] }, 'no time': { at: null }, nobody: { by: 7 } })) {
    it(`is refused for a move of ${what}`, () => {
      assert.throws(() => parseReleaseRecord(recordWith({ ...MOVE, ...wrong })), /moves is no list of moves/)
    })
  }
})
