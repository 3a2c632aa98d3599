import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import { loopEngine } from '../../../src/engine/loop-engine.ts'
import { parseAgent } from '../../../src/registry/kinds/agent-kind.ts'
import { startOf } from '../../../src/session/engine.ts'
import { type ModelEffect } from '../../../src/session/model.ts'
import { answerWith, callOf, Dialogue } from '../dialogue.ts'

const RETURNS = { type: 'object', properties: { owner: { type: 'string' } }, required: ['owner'] }
const TOOLS = [{ name: 'owners', tool: 'code.owners', declaration: { type: 'function', function: { name: 'owners' } } }]

function begin (more: JsonObject = {}): Dialogue {
  return withoutForm({ returns: RETURNS, ...more })
}

function withoutForm (more: JsonObject): Dialogue {
  const dialogue = new Dialogue(startOf(loopEngine), parseAgent({ tools: [{ tool: 'code.owners', name: 'owners' }], ...more }), TOOLS)
  dialogue.say('Who owns a.go?')
  return dialogue
}

function asked (dialogue: Dialogue): ModelEffect {
  const effect = dialogue.effect()
  assert.ok(effect.kind === 'llm')
  return effect
}

const resultOf = (dialogue: Dialogue): JsonObject => ({ ...dialogue.session.engine.view.result })

/** An answer as the service has checked it. */
const checked = (content: string, more: JsonObject): JsonObject => ({ ...answerWith({ content }) as JsonObject, ...more })

describe('An agent that returns a value', () => {
  it('tells its model the form, has the answer checked, and is not followed while it writes', () => {
    const { messages, returns, live, fields } = asked(begin())
    assert.match(String(messages[0]?.['content']), /JSON Schema: \{"type":"object"/)
    assert.deepEqual([returns, live, fields['response_format']], [RETURNS, undefined, undefined])
  })

  it('gives the value of a good first answer, without a further question', () => {
    const dialogue = begin()
    dialogue.end(checked('{"owner":"ann"}', { value: { owner: 'ann' } }))
    const { value, answer, error } = resultOf(dialogue)
    assert.deepEqual([dialogue.session.status, value, answer, error], ['waiting_input', { owner: 'ann' }, '{"owner":"ann"}', null])
    assert.deepEqual(dialogue.log.at(-1)?.notices.find(({ type }) => type === 'message')?.data['value'], { owner: 'ann' })
  })

  it('asks once for the answer alone when it does not fit, without tools', () => {
    const dialogue = begin()
    dialogue.end(checked('Ann owns it.', { problem: 'answer is not JSON' }))
    const { purpose, messages, fields } = asked(dialogue)
    assert.deepEqual([purpose, Object.keys(fields)], ['close', ['response_format']])
    assert.deepEqual(messages.slice(-2), [{ role: 'assistant', content: 'Ann owns it.' }, { role: 'user', content: 'Reply with JSON alone that fits the schema, and nothing else. What is wrong: answer is not JSON' }])
    dialogue.end(checked('{"owner":"ann"}', { value: { owner: 'ann' } }))
    assert.deepEqual(resultOf(dialogue)['value'], { owner: 'ann' })
  })

  it('fails the turn when the second answer does not fit either', () => {
    const dialogue = begin()
    dialogue.end(checked('Ann.', { problem: 'answer is not JSON' }))
    dialogue.end(checked('Ann!', { problem: 'answer is not JSON' }))
    assert.deepEqual([dialogue.session.status, resultOf(dialogue)['error'], resultOf(dialogue)['value']], ['waiting_input', { code: 'MODEL_UNREADABLE', message: 'answer is not JSON' }, undefined])
  })

  it('asks for the answer alone where the model still calls tools in its last turn', () => {
    const dialogue = begin({ maxTurns: 1 })
    dialogue.end(answerWith({ content: null, tool_calls: [callOf('owners', '{}')] }))
    assert.equal(asked(dialogue).purpose, 'close')
  })

  it('forgets the value with the next question', () => {
    const dialogue = begin()
    dialogue.end(checked('{"owner":"ann"}', { value: { owner: 'ann' } }))
    dialogue.say('And b.go?')
    assert.equal(resultOf(dialogue)['value'], undefined)
  })
})

describe('An agent that returns nothing of a form', () => {
  it('is followed while it writes, unless its definition says otherwise', () => {
    const live = ['stream', 'none'].map(name => asked(withoutForm({ ...(name === 'none' ? { stream: false } : {}) })).live)
    assert.deepEqual(live, [true, undefined])
  })
})
