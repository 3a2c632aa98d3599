import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseClassification, parseLeniently } from '../../../src/engine/agent-engine.ts'
import { property } from '../../helpers/property.ts'

const cases: ReadonlyArray<readonly [answer: string, meaning: boolean | undefined]> = [
  ['да', true], ['Да.', true], ['ДА!', true], ['«да»', true], ['yes', true], ['**Yes**', true], [' YES\n', true],
  ['нет', false], ['Нет.', false], ['no', false], ['"No"', false],
  ['', undefined], ['.', undefined], ['да, конечно', undefined], ['не релевантен, да', undefined], ['да да', undefined], ['yes no', undefined],
  ['nope', undefined], ['данет', undefined], ['not', undefined], ['д а', undefined], ['true', undefined], ['1', undefined]
]

const lenient: ReadonlyArray<readonly [answer: string, meaning: boolean | undefined]> = [
  ['Yes, it is about owners.', true], ['No. It asks for the weather.', false], ['Нет, это о погоде', false], ['да — про отпуск', true],
  ['<think>no? yes? The user asks…</think>\n\nyes', true], ['<think>yes', undefined], ['```json\n{"relevant": true}\n```', true], ['```\nno\n```', false],
  ['{"answer": "yes", "confidence": 0.9}', true], ['{"relevant": false, "reason": "it is not about code"}', false], ['{"a": true, "b": false}', undefined], ['true', true],
  ['"Yes"', true], ['**No**', false], ['', undefined], ['perhaps', undefined], ['not really', undefined], ['yesterday', undefined], ['The answer is yes', undefined], ['[true]', undefined]
]

describe('a lenient classification', () => {
  for (const [answer, meaning] of lenient) {
    it(`is ${meaning === undefined ? 'unreadable' : meaning ? 'yes' : 'no'} for ${JSON.stringify(answer)}`, () => {
      assert.equal(parseLeniently(answer), meaning)
    })
  }

  property('is what an exact one is, wherever that is readable', 100, given => {
    given.holds(fc.property(fc.oneof(fc.constantFrom(...cases.map(([answer]) => answer)), fc.string({ maxLength: 10 })), answer => {
      const exact = parseClassification(answer)
      if (exact !== undefined) assert.equal(parseLeniently(answer), exact)
    }))
  })

  it('takes no time over a long answer', () => {
    assert.equal(parseLeniently(`${'<think>'.repeat(100_000)}${'.'.repeat(1_000_000)}`), undefined)
    assert.equal(parseLeniently('['.repeat(1_000_000)), undefined)
  })
})

describe('a classification', () => {
  for (const [answer, meaning] of cases) {
    it(`is ${meaning === undefined ? 'unreadable' : meaning ? 'yes' : 'no'} for ${JSON.stringify(answer)}`, () => {
      assert.equal(parseClassification(answer), meaning)
    })
  }

  property('is the same in any case and with any punctuation around it', 100, given => {
    const around = fc.string({ unit: fc.constantFrom(...' \t\n.,!?*"«»()-—…`'), maxLength: 20 })
    given.holds(fc.property(fc.constantFrom('да', 'yes', 'нет', 'no'), fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }), around, around, (word, isUpper, before, after) => {
      const written = Array.from(word, (letter, index) => isUpper[index] === true ? letter.toUpperCase() : letter).join('')
      assert.equal(parseClassification(`${before}${written}${after}`), word === 'да' || word === 'yes')
    }))
  })

  property('is unreadable with any other letter or digit', 100, given => {
    given.holds(fc.property(fc.constantFrom('да', 'yes', 'нет', 'no'), fc.constantFrom(...'абвxyz019'), fc.boolean(), (word, letter, isBefore) => {
      assert.equal(parseClassification(isBefore ? `${letter} ${word}` : `${word} ${letter}`), undefined)
    }))
  })

  it('takes no time over a long answer', () => {
    assert.equal(parseClassification('.'.repeat(1_000_000)), undefined)
  })
})
