import assert from 'node:assert/strict'
import { describe } from 'node:test'
import fc from 'fast-check'
import { indentTexts } from '../../../src/template/handlebars/partials.ts'
import { property } from '../../helpers/property.ts'

/** As `{{> partial}}` indents a whole text. */
function indented (text: string): string {
  const lines = text.split('\n')
  return lines.map((line, index) => line === '' && index === lines.length - 1 ? line : `  ${line}`).join('\n')
}

describe('indentTexts', () => {
  property('indents texts as the one that they make', 100, given => {
    given.holds(fc.property(fc.array(fc.string({ unit: fc.constantFrom('a', '\n', ' ') })), texts => {
      assert.equal(indentTexts(texts, '  ').join(''), indented(texts.join('')))
    }))
  })
})
