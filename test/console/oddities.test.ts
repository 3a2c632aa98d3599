import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { oddities, odditiesOf } from '../../console/parts/oddities.ts'
import { cpuTimeOf } from '../helpers/cpu-time.ts'

describe('What in a text could deceive', () => {
  it('is what cannot be seen, and words of two alphabets', () => {
    const text = 'ex\u0430mple \u202ea\u3164\u0431 \u0434\u0430 plain \u03b1bc 1\u0430b'
    assert.deepEqual(odditiesOf(text).map(({ at, text: piece, isHidden }) => [at, piece, isHidden]), [
      [0, 'ex\u0430mple', false], [8, '\u202e', true], [10, '\u3164', true], [22, '\u03b1bc', false], [26, '1\u0430b', false]
    ])
    assert.deepEqual(oddities(text), { hidden: 2, mixed: ['ex\u0430mple', '\u03b1bc', '1\u0430b'] })
  })

  it('is found in long words as fast as in short ones', () => {
    const took = cpuTimeOf(() => {
      for (const word of ['x'.repeat(200_000), '1'.repeat(200_000)]) {
        assert.deepEqual(oddities(`${word} \u043f`), { hidden: 0, mixed: [] })
        assert.equal(oddities(`${word}x\u043f`).mixed.length, 1)
      }
    })
    // It took hours with one expression for all.
    assert.ok(took < 5000, `${took} ms`)
  })
})
