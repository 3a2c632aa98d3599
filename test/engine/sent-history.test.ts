import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type JsonObject } from '../../src/base/json.ts'
import { callsOf } from '../../src/llm/history.ts'
import { sentHistory } from '../../src/engine/sent-history.ts'
import { property } from '../helpers/property.ts'

/** A dialogue by letters: u is the user, a an answer, s a line of the agent about its work, c an answer with one call, C with two, t a result. */
function messages (letters: string): JsonObject[] {
  return Array.from(letters, letter => MESSAGES[letter] ?? {})
}

const call = (id: string): JsonObject => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })
const MESSAGES: Readonly<Record<string, JsonObject>> = {
  u: { role: 'user', content: 'u' },
  a: { role: 'assistant', content: 'a', kind: 'said' },
  s: { role: 'assistant', content: 's', kind: 'status' },
  c: { role: 'assistant', content: 'c', tool_calls: [call('1')] },
  C: { role: 'assistant', content: null, tool_calls: [call('1'), call('2')] },
  t: { role: 'tool', tool_call_id: '1', content: 't' },
  T: { role: 'tool', tool_call_id: '2', content: 'T' }
}

const sentBy = (history: Partial<Parameters<typeof sentHistory>[1]>, letters: string) => sentHistory(messages(letters), { turns: 20, status: false, compact: false, ...history })
const wordsOf = (sent: readonly JsonObject[]): string => sent.map(({ content }) => content === null ? 'C' : content as string).join('|')

const byTurns = [
  ['', 3, ''],
  ['uaua', 1, 'u|a'],
  ['uauau', 2, 'u|a|u'],
  ['uuau', 2, 'u\n\nu|a|u'],
  ['uuau', 1, 'u'],
  ['usasu', 5, 'u|a|u'],
  ['uctaua', 5, 'u|c|t|a|u|a'],
  ['uctu', 5, 'u|c|t|(no answer)|u'],
  ['uCtTu', 5, 'u|C|t|T|(no answer)|u'],
  ['uaau', 5, 'u|a\n\na|u'],
  ['uactu', 5, 'u|a\n\nc|t|(no answer)|u'],
  ['uCtu', 5, 'u\n\nu'],
  ['ucu', 5, 'u|c|u'],
  ['utau', 5, 'u|a|u'],
  ['asua', 5, 'u|a']
] as const

const byMessages = [
  ['', 3, ''], ['uaua', 3, 'a|u|a'], ['uaua', 10, 'u|a|u|a'], ['uctaua', 4, 'a|u|a'], ['uctau', 4, 'c|t|a|u'], ['uctau', 3, 'a|u'], ['uauctct', 2, 'u|c|t|c|t']
] as const

describe('What a model is sent of a dialogue', () => {
  for (const [all, turns, sent] of byTurns) {
    it(`of ${all} is ${sent} for ${turns} turns`, () => {
      assert.equal(wordsOf(sentBy({ turns }, all)), sent)
    })
  }

  for (const [all, most, sent] of byMessages) {
    it(`of ${all} is ${sent} for ${most} messages`, () => {
      assert.equal(wordsOf(sentBy({ messages: most }, all)), sent)
    })
  }

  it('has lines about the agent\'s work where its definition says so', () => {
    assert.equal(wordsOf(sentBy({ messages: 3, status: true }, 'uaus')), 'a|u|s')
    assert.deepEqual(Object.keys(sentBy({ messages: 1, status: true }, 's')[0] ?? {}), ['role', 'content'])
  })

  property('alternates by turns, begins with the user, keeps calls and results together and ends as the dialogue does', 300, given => {
    const dialogues = fc.string({ unit: fc.constantFrom('u', 'a', 's', 'ct', 'CtT', 'c', 'C', 't', 'T'), maxLength: 30 })
    given.holds(fc.property(dialogues, fc.integer({ min: 1, max: 6 }), fc.boolean(), (all, turns, status) => {
      const sent = sentBy({ turns, status }, all)
      const spoken = sent.filter(({ role }) => role !== 'tool')
      assert.ok(spoken.length === 0 || spoken[0]?.['role'] === 'user')
      for (const [index, message] of sent.entries()) {
        const next = sent[index + 1]
        const calls = callsOf(message)
        assert.deepEqual(sent.slice(index + 1, index + 1 + calls.length).map(({ tool_call_id: id }) => id), calls.map(({ id }) => id))
        if (calls.length > 0) assert.notEqual(sent[index + 1 + calls.length]?.['role'], 'tool')
        else if (message['role'] !== 'tool') assert.notEqual(next?.['role'], message['role'])
        if (message['role'] === 'tool') assert.notEqual(next?.['role'], 'user')
      }
      if (all.endsWith('u')) assert.equal(sent.at(-1)?.['role'], 'user')
      assert.ok(sent.filter(({ role }) => role === 'user').length <= turns)
    }))
  })
})
