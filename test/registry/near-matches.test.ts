import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { nearMatches } from '../../src/registry/near-matches.ts'

const names = ['evaluator.evaluate_quality', 'evaluator.evaluate_speed', 'greet', 'review.diff']

describe('nearMatches', () => {
  it('finds a name with a few wrong letters', () => {
    assert.deepEqual(nearMatches('evaluator.evaluate_qualty', names).at(0), 'evaluator.evaluate_quality')
  })

  it('finds a name by its last segment alone', () => {
    assert.deepEqual(nearMatches('diff', names), ['review.diff'])
  })

  it('finds nothing for a name that resembles none', () => {
    assert.deepEqual(nearMatches('something-else-entirely', names), [])
  })
})
