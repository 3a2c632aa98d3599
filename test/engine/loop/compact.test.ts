import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import { withShortResults } from '../../../src/engine/sent-history.ts'
import { loopEngine } from '../../../src/engine/loop-engine.ts'
import { type LoopState } from '../../../src/engine/dialogue-state.ts'
import { parseAgent } from '../../../src/registry/kinds/agent-kind.ts'
import { startOf } from '../../../src/session/engine.ts'
import { type ModelEffect } from '../../../src/session/model.ts'
import { answerWith, Dialogue } from '../dialogue.ts'

/** A dialogue with some turns, whose last input was so many tokens. */
function talked (turns: number, input: number, history: JsonObject = {}): Dialogue {
  const dialogue = new Dialogue(startOf(loopEngine), parseAgent({ model: 'big', history: { compact: { above: 1000, keep: 2, model: 'small' }, ...history }, tools: [] }))
  for (let turn = 1; turn <= turns; turn++) {
    dialogue.say(`q${turn}`)
    dialogue.take({ kind: 'result', effect: dialogue.effect().id, result: answerWith({ content: `a${turn}` }), usage: { input: turn === turns ? input : 10, output: 1 } })
  }
  return dialogue
}

function asked (dialogue: Dialogue): ModelEffect {
  const effect = dialogue.effect()
  assert.ok(effect.kind === 'llm')
  return effect
}

const wordsOf = (dialogue: Dialogue) => asked(dialogue).messages.map(({ role, content }) => `${String(role)}: ${String(content)}`)

describe('A dialogue that has become long', () => {
  it('is summed up by the model that its definition names, but for the last turns', () => {
    const dialogue = talked(4, 1001)
    dialogue.say('q5')
    assert.deepEqual([asked(dialogue).purpose, asked(dialogue).fields], ['compact', { model: 'small' }])
    assert.equal(wordsOf(dialogue)[1], 'user: user: q1\nassistant: a1\nuser: q2\nassistant: a2\nuser: q3\nassistant: a3')
    dialogue.end(answerWith({ content: 'They counted.' }))
    assert.deepEqual([asked(dialogue).purpose, wordsOf(dialogue)], ['turn', ['user: What was said before: They counted.\n\nq4', 'assistant: a4', 'user: q5']])
    assert.equal(dialogue.state<LoopState>().messages.length, 9)
  })

  it('is measured by its letters where the provider counts nothing', () => {
    const dialogue = talked(4, 0)
    dialogue.say('x'.repeat(3999))
    assert.equal(asked(dialogue).purpose, 'compact')
  })

  it('has its summary summed up with what came since', () => {
    const dialogue = talked(4, 1001)
    dialogue.say('q5')
    dialogue.end(answerWith({ content: 'They counted.' }))
    dialogue.take({ kind: 'result', effect: dialogue.effect().id, result: answerWith({ content: 'a5' }), usage: { input: 2000, output: 1 } })
    dialogue.say('q6')
    assert.equal(wordsOf(dialogue)[1], 'user: They counted.\nuser: q4\nassistant: a4')
  })

  it('goes on with its last turns when there is no summary, and asks for none again in the same turn', () => {
    const dialogue = talked(4, 1001)
    dialogue.say('q5')
    dialogue.fail('connection refused')
    assert.deepEqual([asked(dialogue).purpose, wordsOf(dialogue).length], ['turn', 9])
  })

  it('is summed up once when the provider says that it is too long', () => {
    const dialogue = talked(3, 10)
    dialogue.say('q4')
    dialogue.fail('maximum context length', 'INPUT_TOO_LONG')
    assert.equal(asked(dialogue).purpose, 'compact')
    dialogue.end(answerWith({ content: 'Short.' }))
    dialogue.fail('maximum context length', 'INPUT_TOO_LONG')
    assert.equal(dialogue.session.status, 'waiting_input')
  })

  it('is never summed up where its definition says so', () => {
    for (const history of [{ compact: false }, { messages: 10 }] as JsonObject[]) {
      const dialogue = talked(4, 100_000, history)
      dialogue.say('q5')
      assert.equal(asked(dialogue).purpose, 'turn')
    }
  })

  it('loses its summary with /clear', () => {
    const dialogue = talked(4, 1001)
    dialogue.say('q5')
    dialogue.end(answerWith({ content: 'They counted.' }))
    dialogue.end(answerWith({ content: 'a5' }))
    dialogue.say('/clear')
    dialogue.say('q6')
    assert.deepEqual(wordsOf(dialogue), ['user: q6'])
  })
})

describe('Results of a dialogue', () => {
  it('are sent whole when they are among the last eight, else their beginnings', () => {
    const all = Array.from({ length: 10 }, (_, index) => ({ role: 'tool', tool_call_id: String(index), content: 'я'.repeat(1000) }))
    const lengths = withShortResults(all).map(({ content }) => Array.from(String(content)).length)
    assert.deepEqual(lengths, [412, 412, ...Array<number>(8).fill(1000)])
  })
})
