import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { indentTexts } from '../../../src/template/explain/indent-texts.ts'

/** As `{{> partial}}` indents a whole text. */
function indented (text: string): string {
  const lines = text.split('\n')
  return lines.map((line, index) => line === '' && index === lines.length - 1 ? line : `  ${line}`).join('\n')
}

describe('indentTexts', () => {
  it('indents texts as the one that they make', () => {
    fc.assert(fc.property(fc.array(fc.string({ unit: fc.constantFrom('a', '\n', ' ') })), texts => {
      assert.equal(indentTexts(texts, '  ').join(''), indented(texts.join('')))
    }))
  })
})
