import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseClassification } from '../../../src/engine/agent/parse-classification.ts'
import { property } from '../../helpers/property.ts'

const cases: ReadonlyArray<readonly [answer: string, meaning: boolean | undefined]> = [
  ['да', true], ['Да.', true], ['ДА!', true], ['«да»', true], ['yes', true], ['**Yes**', true], [' YES\n', true],
  ['нет', false], ['Нет.', false], ['no', false], ['"No"', false],
  ['', undefined], ['.', undefined], ['да, конечно', undefined], ['не релевантен, да', undefined], ['да да', undefined], ['yes no', undefined],
  ['nope', undefined], ['данет', undefined], ['not', undefined], ['д а', undefined], ['true', undefined], ['1', undefined]
]

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
