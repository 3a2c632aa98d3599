import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { indentSpans } from '../../../src/template/trace/indent-spans.ts'

/** As `{{> partial}}` indents a whole text. */
function indented (text: string): string {
  const lines = text.split('\n')
  return lines.map((line, index) => line === '' && index === lines.length - 1 ? line : `  ${line}`).join('\n')
}

describe('indentSpans', () => {
  it('indents spans as the text that they make', () => {
    fc.assert(fc.property(fc.array(fc.string({ unit: fc.constantFrom('a', '\n', ' ') })), texts => {
      const spans = texts.map(text => ({ text, line: 1, column: 1, sources: [] }))
      assert.equal(indentSpans(spans, '  ').map(({ text }) => text).join(''), indented(texts.join('')))
    }))
  })
})
