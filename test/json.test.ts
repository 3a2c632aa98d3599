import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { canonicalJson, type Json, parseJson, stringifyJson } from '../src/base/json.ts'
import { property } from './helpers/property.ts'

describe('parseJson', () => {
  const integers = ['9007199254740991', '9007199254740992', '-9007199254740993', '12345678901234567890123']
  for (const digits of integers) {
    it(`keeps every digit of ${digits}`, () => {
      assert.equal(stringifyJson(parseJson(`{"n":[${digits}]}`)), `{"n":[${digits}]}`)
    })
  }

  property('finds a long number wherever it stands', 100, given => {
    given.holds(fc.property(fc.string({ unit: 'binary', maxLength: 50 }), fc.bigInt({ min: 2n ** 53n, max: 10n ** 40n }), fc.integer(), (before, long, after) => {
      assert.deepEqual(parseJson(stringifyJson([before, long, after])), [before, long, after])
    }))
  })

  it('makes numbers of what a double holds exactly, and of fractions', () => {
    assert.deepEqual(parseJson('["1e400", 1e-400, 1.7e308, 1e0001]'), ['1e400', 0, 1.7e308, 10])
    assert.deepEqual(parseJson('[9007199254740991, 1.5, 1e300, 0.1234567890123456789]'), [9007199254740991, 1.5, 1e300, 0.12345678901234568])
  })

  it('takes the last of repeated keys, with and without long numbers', () => {
    assert.deepEqual(parseJson('{"a":1,"a":2}'), { a: 2 })
    assert.deepEqual(parseJson('{"a":1,"a":9007199254740993}'), { a: 9007199254740993n })
  })

  it('keeps __proto__ as a key of its own, with and without long numbers', () => {
    for (const text of ['{"__proto__":{"x":1}}', '{"__proto__":{"x":9007199254740993}}']) {
      const value = parseJson(text) as object
      assert.equal(Object.hasOwn(value, '__proto__'), true)
      assert.equal((value as { x?: unknown }).x, undefined)
    }
  })

  const mistakes = [
    ['{"a":}', /at line 1, column 6/],
    ['{\n"a": tru}', /at line 2, column/],
    ['', /the text is empty/],
    ['{"a":1', /at line 1, column 7|Unexpected end/],
    ['{"a":1e400}', /1\.8e308 is the most that can be held, not 1e400 at line 1, column 6/],
    ['["\\"1e400", 1E308,\n-1.5E+0309]', /not -1\.5E\+0309 at line 2, column 1/],
    [`[${'9'.repeat(400)}, ${'9'.repeat(400)}.5]`, /not 9{20} at line 1, column 404/],
    [`${'['.repeat(101)}${']'.repeat(101)}`, /nested deeper than 100 at line 1, column 101/],
    [`${'[{"a":'.repeat(51)}1${'}]'.repeat(51)}`, /nested deeper than 100 at line 1, column 301/]
  ] as const
  for (const [text, message] of mistakes) {
    it(`says where ${JSON.stringify(text).slice(0, 20)} is wrong`, () => {
      assert.throws(() => parseJson(text), { name: 'JsonError', message })
    })
  }

  it('does not count brackets inside strings as nesting', () => {
    assert.equal(parseJson(JSON.stringify('['.repeat(500))), '['.repeat(500))
  })

  property('gives back what JSON.stringify wrote, for any value', 100, given => {
    given.holds(fc.property(fc.jsonValue({ maxDepth: 5 }), value => {
      const text = JSON.stringify(value)
      assert.equal(stringifyJson(parseJson(text)), JSON.stringify(JSON.parse(text)))
    }))
  })
})

describe('canonicalJson', () => {
  it('is the same whatever the order of keys', () => {
    assert.equal(canonicalJson({ b: [{ d: 1, c: 2n }], a: null }), canonicalJson({ a: null, b: [{ c: 2n, d: 1 }] }))
  })

  it('tells an integer of many digits from its neighbour', () => {
    assert.notEqual(canonicalJson(9007199254740993n), canonicalJson(9007199254740992n))
  })

  it('keeps a member called __proto__', () => {
    assert.equal(canonicalJson(JSON.parse('{"b":1,"__proto__":{"d":2,"c":3}}') as Json), '{"__proto__":{"c":3,"d":2},"b":1}')
  })
})
