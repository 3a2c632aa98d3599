import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AGENT_TEXTS } from '../../../src/engine/texts.ts'
import { INSTRUCTIONS } from '../../../src/engine/dialogue.ts'

const tables = [['what agents tell their users', AGENT_TEXTS], ['what models are told', INSTRUCTIONS]] as const

for (const [title, { en, ru }] of tables) {
  describe(`The tables of ${title}`, () => {
    it('have no Russian letter in English, and some in each Russian text', () => {
      for (const text of Object.values(en)) assert.doesNotMatch(text, /\p{Script=Cyrillic}/u)
      for (const text of Object.values(ru)) assert.match(text, /\p{Script=Cyrillic}/u)
    })

    it('name nothing in one language that the other does not know', () => {
      const values = (text: string): string[] => [...text.matchAll(/\{\{\w+\}\}/g)].map(([value]) => value).toSorted()
      const known = new Set(Object.values(en).flatMap(values))
      for (const text of Object.values(ru)) for (const value of values(text)) assert.ok(known.has(value), text)
    })
  })
}
