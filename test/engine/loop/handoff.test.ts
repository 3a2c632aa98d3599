import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Json, type JsonObject } from '../../../src/base/json.ts'
import { loopEngine } from '../../../src/engine/loop-engine.ts'
import { type LoopResult } from '../../../src/engine/dialogue-state.ts'
import { parseAgent } from '../../../src/registry/kinds/agent-kind.ts'
import { startOf } from '../../../src/session/engine.ts'
import { type ModelEffect } from '../../../src/session/model.ts'
import { answerWith, callOf, Dialogue } from '../dialogue.ts'

const transfer = (id: string): JsonObject => ({ name: `transfer_to_${id}`, declaration: { type: 'function', function: { name: `transfer_to_${id}` } }, transfer: `agents/${id}` })
const lines: JsonObject = { name: 'lines', tool: 'code.lines', declaration: { type: 'function', function: { name: 'lines' } } }

const agentOf = (id: string, to: string, fields: JsonObject = {}): JsonObject => ({
  kind: 'agents', id, revision: '1', agent: { language: 'en', ...parseAgent({ tools: [], system: `You are ${id}.`, model: `of-${id}`, ...fields }) } as unknown as JsonObject, tools: [transfer(to)]
})

/** A dialogue with desk, which hands over to billing, which hands back to desk. */
function begin (fields: JsonObject = {}): Dialogue {
  const setting = parseAgent({ tools: [{ tool: 'code.lines', name: 'lines' }], system: 'You are desk.' })
  const definitions = { 'agents/billing': agentOf('billing', 'desk', fields), 'agents/desk': agentOf('desk', 'billing') }
  const start = { agent: { language: 'en', ...setting } as unknown as JsonObject, tools: [lines, transfer('billing')], definitions }
  const dialogue = new Dialogue(startOf(loopEngine), setting, [], undefined, [], { setting: start })
  dialogue.say('My bill?')
  return dialogue
}

const call = (...names: string[]): Json => answerWith({ content: null, tool_calls: names.map((name, n) => callOf(name, '{}', `c${n}`)) })

const asked = (dialogue: Dialogue): ModelEffect => dialogue.effect() as ModelEffect
const sent = (dialogue: Dialogue): string[] => asked(dialogue).messages.map(({ role, content }) => `${String(role)}: ${String(content)}`)
const toolsOf = (dialogue: Dialogue): unknown => ((asked(dialogue).fields['tools'] ?? []) as JsonObject[]).map(each => (each['function'] as JsonObject)['name'])
const resultOf = (dialogue: Dialogue): LoopResult => dialogue.session.engine.view.result as LoopResult

describe('A dialogue that is handed over', () => {
  it('goes on with the words, the functions and the model of the other agent, and tells its user', () => {
    const dialogue = begin()
    dialogue.end(call('transfer_to_billing'))
    assert.deepEqual(dialogue.told().stdout, ['Over to billing.'])
    assert.deepEqual([sent(dialogue), toolsOf(dialogue), asked(dialogue).fields['model']], [['system: You are billing.', 'user: My bill?'], ['transfer_to_desk'], 'of-billing'])
    assert.deepEqual([resultOf(dialogue).active, dialogue.session.engine.view.definition], ['agents/billing', 'agents/billing'])
  })

  it('sends the other agent the texts of before, and no call and no result', () => {
    const dialogue = begin()
    dialogue.end(call('lines'))
    dialogue.end('12')
    dialogue.end(answerWith({ content: 'It has 12 lines.' }))
    dialogue.say('And who pays?')
    dialogue.end(call('lines'))
    dialogue.end('13')
    dialogue.end(call('transfer_to_billing'))
    assert.deepEqual(sent(dialogue), ['system: You are billing.', 'user: My bill?', 'assistant: It has 12 lines.', 'user: And who pays?'])
  })

  it('stays with the other agent for the next message', () => {
    const dialogue = begin()
    dialogue.end(call('transfer_to_billing'))
    dialogue.end(answerWith({ content: 'You owe 3.' }))
    dialogue.say('Why?')
    assert.deepEqual(sent(dialogue), ['system: You are billing.', 'user: My bill?', 'assistant: You owe 3.', 'user: Why?'])
  })

  it('makes no other call of the answer that hands it over, and tells the other agent and the log so', () => {
    const dialogue = begin()
    dialogue.end(call('lines', 'transfer_to_billing'))
    assert.deepEqual(dialogue.open.map(({ kind }) => kind), ['llm'])
    const wrong = 'not called, since the dialogue was handed over in the same answer:'
    assert.deepEqual(sent(dialogue).slice(1), ['user: My bill?', 'assistant: (no answer)', `user: ${wrong}\nlines {}`])
    assert.ok(dialogue.told().log.includes(`[exec] call_tool // lines: ${wrong} (warning)`), dialogue.told().log.join())
  })

  /** Hands it over as often. */
  function to (dialogue: Dialogue, times: number): void {
    for (let n = 0; n < times; n++) dialogue.end(call(n % 2 === 0 ? 'transfer_to_billing' : 'transfer_to_desk'))
  }

  it('is handed over five times for one message, and the model reads that a sixth is refused', () => {
    const dialogue = begin()
    to(dialogue, 5)
    assert.equal(resultOf(dialogue).active, 'agents/billing')
    dialogue.end(call('transfer_to_desk'))
    assert.equal(resultOf(dialogue).active, 'agents/billing')
    assert.equal(sent(dialogue).at(-1), 'tool: {"error":"the dialogue was handed over 5 times for this message; answer it yourself"}')
  })

  it('fails its turn when the model insists, and goes on with the next message', () => {
    const dialogue = begin()
    to(dialogue, 5)
    dialogue.end(call('transfer_to_desk'))
    dialogue.end(call('transfer_to_desk'))
    assert.deepEqual([resultOf(dialogue).error?.code, dialogue.session.status], ['MODEL_UNREADABLE', 'waiting_input'])
    dialogue.say('Again')
    dialogue.end(call('transfer_to_desk'))
    assert.equal(resultOf(dialogue).active, 'agents/desk')
  })

  it('says so in the language of whoever hands it over', () => {
    const dialogue = begin({ language: 'ru' })
    to(dialogue, 2)
    assert.deepEqual(dialogue.told().stdout, ['Передаю: desk.'])
  })

  it('is the same when it is read out of its log', () => {
    const dialogue = begin()
    to(dialogue, 3)
    assert.deepEqual(dialogue.fold().engine.state, dialogue.session.engine.state)
  })
})
