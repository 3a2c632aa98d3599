import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type JsonObject } from '../../../src/base/json.ts'
import { lastMessages } from '../../../src/engine/loop/last-messages.ts'
import { property } from '../../helpers/property.ts'

/** A dialogue by letters: u is the user, a an answer, c an answer that calls tools, t a result. */
function messages (letters: string): JsonObject[] {
  const roles: Readonly<Record<string, string>> = { u: 'user', a: 'assistant', c: 'assistant', t: 'tool' }
  return Array.from(letters, letter => ({ role: roles[letter] ?? '', content: letter }))
}

const cases = [
  ['', 3, ''],
  ['uaua', 3, 'aua'],
  ['uaua', 10, 'uaua'],
  ['ucttaua', 4, 'aua'],
  ['ucttau', 5, 'cttau'],
  ['ucttau', 4, 'au'],
  ['ucttau', 6, 'ucttau'],
  ['uauctttt', 2, 'uctttt']
] as const

describe('the last messages', () => {
  for (const [all, most, last] of cases) {
    it(`of ${all} are "${last}" when ${most} are wanted`, () => {
      assert.equal(lastMessages(messages(all), most).map(({ content }) => content).join(''), last)
    })
  }

  property('are an end of the dialogue with the last question, and have the call of every result', 100, given => {
    const exchange = fc.tuple(fc.array(fc.nat(3), { maxLength: 4 }), fc.boolean()).map(([turns, isAnswered]) => `u${turns.map(calls => `c${'t'.repeat(calls + 1)}`).join('')}${isAnswered ? 'a' : ''}`)
    given.holds(fc.property(fc.array(exchange, { minLength: 1, maxLength: 6 }), fc.integer({ min: 1, max: 12 }), (exchanges, most) => {
      const all = exchanges.join('')
      const last = lastMessages(messages(all), most).map(({ content }) => content as string).join('')
      assert.ok(all.endsWith(last))
      assert.ok(last.includes(exchanges.at(-1) as string))
      assert.ok(!last.startsWith('t'))
      assert.ok(last.length <= Math.max(most, (exchanges.at(-1) as string).length))
    }))
  })
})
