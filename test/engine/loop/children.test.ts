import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Json, type JsonObject } from '../../../src/base/json.ts'
import { agentEngine } from '../../../src/engine/agent-engine.ts'
import { loopEngine } from '../../../src/engine/loop-engine.ts'
import { type LoopResult } from '../../../src/engine/dialogue-state.ts'
import { parseAgent } from '../../../src/registry/kinds/agent-kind.ts'
import { startOf } from '../../../src/session/engine.ts'
import { type ChildEffect, type Effect, type ModelEffect, type Start } from '../../../src/session/model.ts'
import { answerWith, callOf, Dialogue } from '../dialogue.ts'

const TASK = { task: { type: 'string', required: true } }

const offered = (child: JsonObject, name = 'research'): Json => ({ name, declaration: { type: 'function', function: { name } }, child: { definition: 'agents/web', parameters: TASK, input: '{{task}}', ...child } })

const PARENT = { parent: { session: 'p', effect: '2.0', root: 'p', depth: 1, line: [{ session: 'p', definition: 'agents/top' }] } }

function begin (tools: Json, fields: JsonObject = {}, more: Partial<Start> = {}): Dialogue {
  return new Dialogue(startOf(loopEngine), parseAgent({ tools: [], ...fields }), tools, undefined, [], more)
}

const call = (...calls: JsonObject[]): Json => answerWith({ content: null, tool_calls: calls })

/** The dialogue after the model has made these calls. */
function after (tools: Json, ...calls: JsonObject[]): Dialogue {
  const dialogue = begin(tools)
  dialogue.say('Go')
  dialogue.end(call(...calls))
  return dialogue
}

const children = (effects: readonly Effect[]): ChildEffect[] => effects.flatMap(effect => effect.kind === 'child' ? [effect] : [])

/** The results that the model is sent. */
function results (dialogue: Dialogue): unknown[] {
  const [effect] = dialogue.open as ModelEffect[]
  return (effect?.messages ?? []).filter(({ role }) => role === 'tool').map(({ content }) => content)
}

describe('An agent that calls agents, skills and plans', () => {
  it('starts one with the text that its function makes of the arguments', () => {
    const dialogue = after([offered({ input: 'Find out: {{task}}', budget: { steps: 9, tokens: 900 } })], callOf('research', '{"task":"who"}'))
    assert.deepEqual(dialogue.open, [{ id: '3.0', kind: 'child', name: 'research', definition: 'agents/web', input: { text: 'Find out: who' }, budget: { steps: 9, tokens: 900 } }])
  })

  it('gives a skill its parameters, and the place of its function', () => {
    const skill = offered({ definition: 'skills/notes', parameters: { version: { type: 'string', required: true } }, input: '', place: 'shop' })
    assert.deepEqual(children(after([skill], callOf('research', '{"version":"1.2"}')).open).map(({ input, place }) => ({ input, place })), [{ input: { text: '', params: { version: '1.2' } }, place: 'shop' }])
  })

  for (const [problem, text, words] of [
    ['a parameter is missing', '{}', 'task: it is required'],
    ['a parameter is of another type', '{"task":1}', 'task: expected a string'],
    ['a parameter is unknown', '{"task":"x","owner":"me"}', 'there is no parameter "owner"'],
    ['the arguments are no JSON', 'x', 'the arguments are not JSON']
  ] as const) {
    it(`has its model read what is wrong when ${problem}`, () => {
      const [result] = results(after([offered({})], callOf('research', text)))
      assert.ok(String(result).startsWith(`{"error":${JSON.stringify(words).slice(0, -1)}`), String(result))
    })
  }

  it('starts eight for one answer, and has its model read that the ninth was refused', () => {
    const dialogue = after([offered({})], ...Array.from({ length: 9 }, (_, n) => callOf('research', `{"task":"${n}"}`, `c${n}`)))
    assert.equal(children(dialogue.open).length, 8)
    for (let left = 8; left > 0; left--) dialogue.end('done')
    assert.deepEqual(results(dialogue).at(-1), '{"error":"at most 8 agents, skills and plans are called in one answer"}')
  })

  it('has its model read what one came to, and why one has failed', () => {
    const dialogue = after([offered({})], callOf('research', '{"task":"a"}', 'c1'), callOf('research', '{"task":"b"}', 'c2'))
    dialogue.end({ owner: 'ann' })
    dialogue.fail('agents/web was cancelled', 'CHILD_CANCELLED')
    assert.deepEqual(results(dialogue), ['{"owner":"ann"}', '{"error":"agents/web was cancelled"}'])
  })

  it('has its model read that one was refused, and goes on', () => {
    const dialogue = new Dialogue(startOf(loopEngine), parseAgent({ tools: [] }), [offered({})], undefined, [], { parent: { ...PARENT.parent, depth: 3 }, input: { task: 'x' } })
    dialogue.end(call(callOf('research', '{"task":"deeper"}')))
    assert.deepEqual(results(dialogue), ['{"error":"refused: 3 sessions are above this one, and it starts no further one"}'])
  })
})

describe('An agent that another one has called', () => {
  const start = (fields: JsonObject = {}): Dialogue => begin([], fields, { ...PARENT, input: { task: ' Who? ' } })

  it('asks its model at once, and shows no help', () => {
    const dialogue = start({ help: 'Ask me.' })
    assert.deepEqual([dialogue.told().stdout, (dialogue.open as ModelEffect[]).map(({ messages }) => messages)], [[], [[{ role: 'user', content: 'Who?' }]]])
  })

  it('ends with its answer', () => {
    const dialogue = start()
    dialogue.end(answerWith({ content: 'Ann.' }))
    assert.deepEqual([dialogue.session.status, (dialogue.session.engine.view.result as LoopResult).answer, dialogue.log.length], ['completed', 'Ann.', 2])
  })

  it('is no command, whatever it is asked', () => {
    const dialogue = begin([], {}, { ...PARENT, input: { task: '/exit' } })
    assert.equal(dialogue.session.status, 'running')
  })

  it('fails with a turn that fails', () => {
    const dialogue = start()
    dialogue.fail('no route')
    assert.deepEqual([dialogue.session.status, (dialogue.session.engine.view.result as LoopResult).error], ['failed', { code: 'MODEL_FAILED', message: 'no route' }])
  })

  it('by steps answers once, too', () => {
    const setting = parseAgent({ mode: 'steps', select: { prompt: 'Choose.' }, tools: [{ tool: 'a.b' }] })
    const dialogue = new Dialogue(startOf(agentEngine), setting, [], undefined, [], { ...PARENT, input: { task: 'Who?' } })
    dialogue.end(answerWith({ content: null, tool_calls: [callOf('a_b', '{}')] }))
    dialogue.end('Ann')
    assert.deepEqual([dialogue.session.status, (dialogue.session.engine.view.result as LoopResult).answer], ['completed', '"Ann"'])
  })
})
