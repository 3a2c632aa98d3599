import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Json, type JsonObject } from '../../../src/base/json.ts'
import { loopEngine } from '../../../src/engine/loop-engine.ts'
import { type LoopState } from '../../../src/engine/dialogue-state.ts'
import { parseAgent } from '../../../src/registry/kinds/agent-kind.ts'
import { startOf } from '../../../src/session/engine.ts'
import { type ModelEffect, type Start } from '../../../src/session/model.ts'
import { approved } from '../../session/approve.ts'
import { answerWith, callOf, Dialogue } from '../dialogue.ts'

const offered = ['owners', 'lines'].map(name => ({ name, tool: `code.${name}`, declaration: { type: 'function', function: { name } } }))

function begin (fields: JsonObject = {}, tools: Json = offered, budget?: Start['budget'], ask?: readonly string[]): Dialogue {
  const setting = parseAgent({ mode: 'tools', help: 'Ask me.', system: 'Be short.', tools: [{ tool: 'code.owners', name: 'owners', arguments: { tenant: 'acme' } }, { tool: 'code.lines', name: 'lines' }], ...fields })
  return new Dialogue(startOf(loopEngine), setting, tools, budget, ask)
}

function call (...calls: JsonObject[]): Json {
  return answerWith({ content: null, tool_calls: calls })
}

function asked (dialogue: Dialogue): ModelEffect {
  const effect = dialogue.effect()
  assert.ok(effect.kind === 'llm')
  return effect
}

/** What the model is sent, one word a message. */
function sent (dialogue: Dialogue): Json[] {
  return asked(dialogue).messages.map(({ role, content, tool_call_id: id }) => role === 'tool' ? `${id as string}=${content as string}` : `${role as string}:${content as string}`)
}

function resultOf (dialogue: Dialogue): Readonly<Record<string, unknown>> {
  return { ...dialogue.session.engine.view.result }
}

describe('the free agent', () => {
  it('shows its help and waits', () => {
    const dialogue = begin()
    assert.deepEqual(dialogue.told(), { stdout: ['Ask me.'], log: ['[main] AgentStart (debug)'] })
    assert.equal(dialogue.session.status, 'waiting_input')
  })

  it('asks the model with its system message and all tools', () => {
    const dialogue = begin({ model: 'big' })
    dialogue.say(' Who owns a.go? ')
    const { purpose, messages, fields, timeout } = asked(dialogue)
    assert.deepEqual({ purpose, messages, fields, timeout }, {
      purpose: 'turn',
      messages: [{ role: 'system', content: 'Be short.' }, { role: 'user', content: 'Who owns a.go?' }],
      fields: { model: 'big', tools: offered.map(({ declaration }) => declaration) },
      timeout: 120_000
    })
  })

  it('sends the model all that a person says, however long', () => {
    const dialogue = begin()
    dialogue.say('я'.repeat(100_000))
    assert.equal(sent(dialogue).at(-1), `user:${'я'.repeat(100_000)}`)
  })

  it('sends no fields of tools when none can be called', () => {
    const dialogue = begin({ maxTurns: 1 }, [])
    dialogue.say('Hello')
    assert.deepEqual(asked(dialogue).fields, {})
  })

  it('shows an answer without calls and waits', () => {
    const dialogue = begin()
    dialogue.say('Hello')
    dialogue.end(answerWith({ content: 'Hi.' }))
    assert.deepEqual(dialogue.told().stdout, ['Hi.'])
    assert.deepEqual(dialogue.log.at(-1)?.notices.filter(({ type }) => type === 'message'), [{ type: 'message', data: { role: 'assistant', content: 'Hi.', effect: '2.0' } }])
    assert.equal(dialogue.session.status, 'waiting_input')
    assert.deepEqual(dialogue.state<LoopState>().messages, [{ role: 'user', content: 'Hello' }, { role: 'assistant', content: 'Hi.' }])
  })

  it('makes the calls of an answer side by side, with the arguments that the definition fixes', () => {
    const dialogue = begin()
    dialogue.say('Who?')
    dialogue.end(call(callOf('owners', '{"file":"a.go","tenant":"evil"}', 'c1'), callOf('lines', '', 'c2')))
    assert.deepEqual(dialogue.open.map(effect => effect.kind === 'tool' ? [effect.tool, effect.arguments] : effect), [['code.owners', { file: 'a.go', tenant: 'acme' }], ['code.lines', {}]])
  })

  it('gives the model its results in its own order, once all have ended', () => {
    const dialogue = begin()
    dialogue.say('Who?')
    dialogue.end(call(callOf('owners', '{}', 'c1'), callOf('lines', '{}', 'c2')))
    dialogue.end('second', 1)
    assert.deepEqual(dialogue.open.map(({ kind }) => kind), ['tool'])
    dialogue.end({ owners: ['x'] })
    assert.deepEqual(sent(dialogue), ['system:Be short.', 'user:Who?', 'assistant:null', 'c1={"owners":["x"]}', 'c2=second'])
  })

  for (const [title, given] of [['a text', '{"file":"a.go"}'], ['an object', { file: 'a.go' }]] as const) {
    it(`understands a function_call of the older dialect with its arguments as ${title}, and answers in it`, () => {
      const dialogue = begin()
      dialogue.say('Who?')
      const asks = { function_call: { name: 'owners', arguments: given } }
      dialogue.end(answerWith({ content: '', ...asks }))
      assert.deepEqual(dialogue.open.map(effect => effect.kind === 'tool' ? [effect.tool, effect.arguments] : effect), [['code.owners', { file: 'a.go', tenant: 'acme' }]])
      dialogue.end('x')
      assert.deepEqual(asked(dialogue).messages.slice(-2), [{ role: 'assistant', content: null, function_call: { name: 'owners', arguments: '{"file":"a.go"}' } }, { role: 'function', name: 'owners', content: 'x' }])
    })
  }

  const refused = [
    ['an unknown name', callOf('pizza', '{}', 'c1'), 'c1={"error":"there is no function \\"pizza\\""}'],
    ['a name of every object', callOf('toString', '{}', 'c1'), 'c1={"error":"there is no function \\"toString\\""}'],
    ['arguments that are no object', callOf('owners', '[1]', 'c1'), 'c1={"error":"the arguments are not a JSON object"}']
  ] as const
  for (const [title, wrong, result] of refused) {
    it(`answers ${title} with an error for the model, without an effect`, () => {
      const dialogue = begin()
      dialogue.say('Who?')
      dialogue.end(call(wrong))
      assert.deepEqual(sent(dialogue).slice(-1), [result])
    })
  }

  it('waits for the calls that can be made when another cannot', () => {
    const dialogue = begin()
    dialogue.say('Who?')
    dialogue.end(call(callOf('pizza', '{}', 'c1'), callOf('lines', '{}', 'c2')))
    assert.deepEqual(dialogue.open.map(({ kind }) => kind), ['tool'])
    dialogue.end('ok')
    assert.deepEqual(sent(dialogue).slice(-2), ['c1={"error":"there is no function \\"pizza\\""}', 'c2=ok'])
  })

  it('makes no more than 32 calls of one answer', () => {
    const dialogue = begin({}, offered, { steps: 500, tokens: 1_000_000, idle: 60_000 })
    dialogue.say('Who?')
    dialogue.end(call(...Array.from({ length: 40 }, (_, index) => callOf('lines', `{"n":${index}}`, `c${index}`))))
    assert.equal(dialogue.open.length, 32)
    while (dialogue.effect().kind === 'tool') dialogue.end('ok')
    assert.equal(sent(dialogue).at(-1), 'c39={"error":"at most 32 calls are made at a time"}')
  })

  const ends = [
    ['fails', { kind: 'failure', code: 'TIMEOUT', message: 'no answer within 10000 ms' }, 'no answer within 10000 ms'],
    ['is refused', { kind: 'refused', by: 'person', reason: 'too risky' }, 'refused: too risky']
  ] as const
  for (const [title, fact, reason] of ends) {
    it(`tells the model of a call that ${title}`, () => {
      const dialogue = begin()
      dialogue.say('Who?')
      dialogue.end(call(callOf('owners', '{}', 'c1')))
      dialogue.take({ ...fact, effect: dialogue.effect().id })
      assert.equal(sent(dialogue).at(-1), `c1={"error":"${reason}"}`)
      assert.deepEqual(dialogue.told().log, [`[exec] call_tool // owners: ${reason} (warning)`])
    })
  }

  it('tells model and user of a call that may have been done, and neither that it failed', () => {
    const dialogue = begin()
    dialogue.say('Who?')
    dialogue.end(call(callOf('owners', '{}', 'c1')))
    dialogue.take({ kind: 'unknown', effect: dialogue.effect().id, reason: 'no answer within 10000 ms' })
    assert.equal(sent(dialogue).at(-1), 'c1={"error":"interrupted","outcome":"unknown","note":"It may have happened. Do not repeat it without asking the user."}')
    assert.deepEqual(resultOf(dialogue)['error'], { code: 'TOOL_UNKNOWN', message: 'no answer within 10000 ms. Nobody knows whether it was done' })
    assert.deepEqual(dialogue.told(), {
      stdout: ['owners was interrupted. It may have done its work: please check before you ask again.'],
      log: ['[exec] call_tool // owners: outcome unknown: no answer within 10000 ms. Nobody knows whether it was done (error)']
    })
  })

  it('tells the model of a call that a person rejects, and of one beyond the budget', () => {
    const dialogue = begin({}, offered, { steps: 3, tokens: 1_000_000, idle: 60_000 }, ['code.owners'])
    dialogue.say('Who?')
    dialogue.end(call(callOf('owners', '{}', 'c1'), callOf('lines', '{}', 'c2')))
    assert.equal(dialogue.session.status, 'running')
    dialogue.end('ok', 1)
    assert.equal(dialogue.session.status, 'waiting_approval')
    dialogue.take({ kind: 'decided', effect: dialogue.effect().id, by: 'me', decision: 'reject', reason: 'no' })
    assert.deepEqual(sent(dialogue).slice(-2), ['c1={"error":"refused: no"}', 'c2=ok'])
    dialogue.end(call(callOf('lines', '{}', 'c3')))
    // The call is beyond the budget, and so is the question that would follow.
    assert.equal(dialogue.session.status, 'failed')
  })

  it('lets the model call nothing in its last turn', () => {
    const dialogue = begin({ maxTurns: 2 })
    dialogue.say('Who?')
    dialogue.end(call(callOf('owners', '{}')))
    dialogue.end('x')
    assert.equal(asked(dialogue).fields['tool_choice'], 'none')
  })

  it('gives up when the model calls tools in its last turn, and counts anew for the next question', () => {
    const dialogue = begin({ maxTurns: 1 })
    dialogue.say('Who?')
    dialogue.end(call(callOf('owners', '{}')))
    assert.deepEqual(dialogue.told(), { stdout: ['I have no answer. Could you say it in other words?'], log: ['[turn] ask_model // No answer: it still calls tools after 1 turns (warning)'] })
    dialogue.say('Where?')
    dialogue.end(answerWith({ content: 'There.' }))
    assert.deepEqual(dialogue.told().stdout, ['There.'])
  })

  it('sends an empty answer back once, and says then that it makes no sense', () => {
    const dialogue = begin({ messages: { modelUnclear: 'Pardon?' } })
    dialogue.say('Who?')
    dialogue.end(answerWith({ content: ' ' }))
    assert.deepEqual(sent(dialogue), ['system:Be short.', 'user:Who?', 'assistant:(no answer)', 'user:Your answer cannot be read. Call a function, or answer in words. What is wrong: its message is empty'])
    dialogue.end(answerWith({ content: '' }))
    assert.deepEqual([dialogue.told().stdout, dialogue.session.status, resultOf(dialogue)['error']], [['Pardon?'], 'waiting_input', { code: 'MODEL_UNREADABLE', message: 'its message is empty' }])
  })

  it('goes on when its model fails, and asks again on /retry without a further message', () => {
    const dialogue = begin()
    dialogue.say('Who?')
    dialogue.end(call(callOf('owners', '{}', 'c1')))
    dialogue.end('ann')
    dialogue.fail('connection refused')
    assert.deepEqual(dialogue.told(), { stdout: ['The model does not answer. /retry asks again, or say something else.'], log: ['[turn] ask_model // LLM Error: connection refused (error)'] })
    assert.deepEqual([dialogue.session.status, resultOf(dialogue)['error']], ['waiting_input', { code: 'MODEL_FAILED', message: 'connection refused' }])
    dialogue.say('/retry')
    assert.deepEqual(sent(dialogue), ['system:Be short.', 'user:Who?', 'assistant:null', 'c1=ann'])
    dialogue.end(answerWith({ content: 'Ann.' }))
    assert.deepEqual([dialogue.told().stdout, resultOf(dialogue)['error'], resultOf(dialogue)['answer']], [['Ann.'], null, 'Ann.'])
  })

  it('asks again on the action retry, and refuses it when nothing has failed', () => {
    const dialogue = begin()
    const retry = { name: 'retry', data: {} }
    assert.deepEqual(dialogue.session.engine.refuses('', retry)?.kind, 'busy')
    assert.deepEqual(dialogue.session.engine.refuses('', { name: 'skip', data: {} })?.kind, 'invalid')
    dialogue.say('Who?')
    dialogue.fail('connection refused')
    assert.equal(dialogue.session.engine.refuses('', retry), undefined)
    dialogue.take({ kind: 'input', id: 'r', by: '', text: '', action: retry })
    assert.deepEqual(sent(dialogue), ['system:Be short.', 'user:Who?'])
  })

  it('takes /retry as a message where nothing has failed', () => {
    const dialogue = begin()
    dialogue.say('/retry')
    assert.deepEqual(sent(dialogue), ['system:Be short.', 'user:/retry'])
  })

  it('puts (no answer) between results and the next question when the model has failed', () => {
    const dialogue = begin()
    dialogue.say('Who?')
    dialogue.end(call(callOf('owners', '{}', 'c1')))
    dialogue.end('ann')
    dialogue.fail('connection refused')
    dialogue.say('Where?')
    assert.deepEqual(sent(dialogue), ['system:Be short.', 'user:Who?', 'assistant:null', 'c1=ann', 'assistant:(no answer)', 'user:Where?'])
  })

  it('says so when its budget is used up, and ends', () => {
    const dialogue = begin({}, offered, { steps: 1, tokens: 1_000_000, idle: 60_000 })
    dialogue.say('Who?')
    dialogue.end(answerWith({ content: 'Me.' }))
    dialogue.say('Who?')
    assert.deepEqual([dialogue.told().stdout, dialogue.session.status], [['This dialogue has used up its budget.'], 'failed'])
  })

  it('fails with its model where its definition says so', () => {
    const dialogue = begin({ onError: 'end' })
    dialogue.say('Who?')
    dialogue.fail('connection refused')
    assert.deepEqual(dialogue.told(), { stdout: ['The model cannot be reached. Goodbye.'], log: ['[turn] ask_model // LLM Error: connection refused (critical)'] })
    assert.equal(dialogue.session.status, 'failed')
  })

  it('fails when an answer has no message, where its definition says so', () => {
    const dialogue = begin({ onError: 'end', repairs: 0 })
    dialogue.say('Who?')
    dialogue.end('…')
    assert.equal(dialogue.session.status, 'failed')
  })

  it('knows the commands', () => {
    const dialogue = begin()
    dialogue.say('Who?')
    dialogue.end(answerWith({ content: 'Me.' }))
    dialogue.say('/clear')
    assert.deepEqual(dialogue.state<LoopState>().messages, [])
    dialogue.say('?')
    assert.deepEqual(dialogue.told(), { stdout: ['Ask me.'], log: ['[main] AgentHelp (debug)'] })
    dialogue.say('EXIT')
    assert.equal(dialogue.session.status, 'completed')
  })

  it('holds a call that equals one of which nobody knows the outcome, until such a call has ended well', () => {
    const dialogue = begin()
    dialogue.say('Who?')
    dialogue.end(call(callOf('owners', '{}', 'c1')))
    dialogue.take({ kind: 'unknown', effect: dialogue.effect().id })
    dialogue.end(call(callOf('owners', '{"tenant":"other"}', 'c2')))
    assert.deepEqual([dialogue.session.status, dialogue.log.at(-1)?.held[0]?.rule], ['waiting_approval', 'the same call was interrupted before, and may have been done'])
    dialogue.take(approved(dialogue.session, dialogue.effect().id))
    dialogue.end('ann')
    dialogue.end(answerWith({ content: 'Ann.' }))
    dialogue.say('Sure?')
    dialogue.end(call(callOf('owners', '{}', 'c3')))
    assert.equal(dialogue.session.status, 'running')
    assert.deepEqual(dialogue.fold().doubtful, new Set())
  })

  it('waits for an approval of the third equal call for one question', () => {
    const dialogue = begin()
    dialogue.say('Who?')
    for (let count = 0; count < 2; count++) {
      dialogue.end(call(callOf('owners', '{}', 'c')))
      dialogue.end('x')
    }
    dialogue.end(call(callOf('owners', '{}', 'c')))
    assert.equal(dialogue.session.status, 'waiting_approval')
  })

  it('cuts long results', () => {
    const dialogue = begin()
    dialogue.say('Who?')
    dialogue.end(call(callOf('owners', '{}', 'c')))
    dialogue.end('я'.repeat(20_000))
    assert.equal(sent(dialogue).at(-1), `c=${'я'.repeat(16_000)}…[truncated]`)
  })
})
