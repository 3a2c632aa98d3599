import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isNearly, nearMatches } from '../../src/base/near-matches.ts'

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

  it('gives the three nearest, whatever their order', () => {
    const near = ['abcdefgh4444', 'abcdefghi444', 'abcdefghij44', 'abcdefghijk4', 'abcdefghijkk']
    for (const order of [near, [...near].reverse()]) assert.deepEqual(nearMatches('abcdefghijkl', order), ['abcdefghijk4', 'abcdefghijkk', 'abcdefghij44'])
  })

  for (const [length, most] of [[500, 60], [50_000, 2]] as const) {
    it(`compares at most ${most} names of ${length} characters`, () => {
      const [wanted, name] = ['x'.repeat(length), 'y'.repeat(length)]
      let asked = 0
      function * endless (): Generator<string> {
        for (;;) {
          asked++
          yield name
        }
      }
      nearMatches(wanted, endless())
      assert.ok(asked <= most, `${asked} names`)
    })
  }
})

describe('a name that is nearly another', () => {
  const cases: ReadonlyArray<readonly [name: string, meant: string, expected: boolean]> = [
    ['uper', 'upper', true],
    ['Upper', 'upper', true],
    ['nmae', 'name', true],
    ['form', 'from', true],
    ['nam', 'name', true],
    ['eman', 'name', false],
    ['nome', 'same', false],
    ['sortby', 'sortBy', true],
    ['review.aa', 'review.aaaa', true],
    ['review.aa', 'review.aaaaa', false],
    ['abcabc', 'abc', false],
    ['langauge', 'language', true],
    ['languish', 'language', false],
    ['', 'a', false],
    ['a', 'b', false],
    ['ID', 'id', true],
    ['di', 'id', true],
    ['is', 'id', false],
    ['gte', 'ge', true],
    ['ab', 'abc', true]
  ]
  for (const [name, meant, expected] of cases) {
    it(`${expected ? 'may be' : 'is not'} ${JSON.stringify(name)} for ${JSON.stringify(meant)}`, () => {
      assert.equal(isNearly(name, meant), expected)
    })
  }
})
