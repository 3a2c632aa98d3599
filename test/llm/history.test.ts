import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../src/base/json.ts'
import { mergeFields, withoutConflicts } from '../../src/llm/model-request.ts'
import { strictMessages } from '../../src/llm/history.ts'
import { jsonIn } from '../../src/llm/json-in.ts'
import { cpuTimeOf } from '../helpers/cpu-time.ts'

const call = (id: string, given: unknown = '{}', name = 'find') => ({ id, type: 'function', function: { name, arguments: given } })
const user = { role: 'user', content: 'Go' }

describe('a conversation for strict APIs', () => {
  const cases: ReadonlyArray<readonly [title: string, given: readonly object[], sent: readonly object[]]> = [
    ['arguments that are no JSON object', [user, { role: 'assistant', content: null, tool_calls: [call('a', '{"x'), call('b', { y: 1 }), call('c', '[]')] }], [user, { role: 'assistant', content: null, tool_calls: [call('a'), call('b', '{"y":1}'), call('c')] }]],
    ['no type, no id and a name that APIs refuse', [user, { role: 'assistant', content: '', tool_calls: [{ function: { name: 'поиск me', arguments: '' } }] }, { role: 'tool', content: 'x' }], [user, { role: 'assistant', content: null, tool_calls: [call('call_1', '{}', '______me')] }, { role: 'tool', tool_call_id: 'call_1', content: 'x' }]],
    ['one id for all calls of all turns', [user, { role: 'assistant', tool_calls: [call('a'), call('a')] }, { role: 'tool', tool_call_id: 'a', content: '1' }, { role: 'tool', tool_call_id: 'a', content: '2' }, { role: 'assistant', tool_calls: [call('a')] }, { role: 'tool', tool_call_id: 'a', content: '3' }], [user, { role: 'assistant', content: null, tool_calls: [call('a'), call('call_1')] }, { role: 'tool', tool_call_id: 'a', content: '1' }, { role: 'tool', tool_call_id: 'call_1', content: '2' }, { role: 'assistant', content: null, tool_calls: [call('call_2')] }, { role: 'tool', tool_call_id: 'call_2', content: '3' }]],
    ['a text between a call and its result', [user, { role: 'assistant', content: null, tool_calls: [call('a')] }, { role: 'assistant', content: 'Looking.' }, { role: 'tool', tool_call_id: 'a', content: 'x' }], [user, { role: 'assistant', content: 'Looking.', tool_calls: [call('a')] }, { role: 'tool', tool_call_id: 'a', content: 'x' }]],
    ['a text before its call, and a second call behind it', [user, { role: 'assistant', content: 'Looking.' }, { role: 'assistant', content: null, tool_calls: [call('a')] }, { role: 'assistant', content: null, tool_calls: [call('b')] }, { role: 'tool', tool_call_id: 'a', content: 'x' }, { role: 'tool', tool_call_id: 'b', content: 'y' }], [user, { role: 'assistant', content: 'Looking.', tool_calls: [call('a'), call('b')] }, { role: 'tool', tool_call_id: 'a', content: 'x' }, { role: 'tool', tool_call_id: 'b', content: 'y' }]],
    ['empty texts and half characters', [{ role: 'user', content: 'half \ud83d' }, { role: 'assistant', content: '' }, { role: 'user', content: [{ type: 'text', text: '\ude00' }] }, { role: 'assistant', content: null }], [{ role: 'user', content: 'half \ufffd' }, { role: 'assistant', content: '(no answer)' }, { role: 'user', content: [{ type: 'text', text: '\ufffd' }] }, { role: 'assistant', content: '(no answer)' }]],
    ['what it does not know', [{ role: 'system', content: 'Be.', cache_control: { type: 'x' } }, { role: 'assistant', content: 'a', name: 'b' }], [{ role: 'system', content: 'Be.', cache_control: { type: 'x' } }, { role: 'assistant', content: 'a', name: 'b' }]]
  ]
  for (const [title, given, sent] of cases) {
    it(`is right with ${title}`, () => {
      assert.deepEqual(strictMessages(given as JsonObject[]), sent)
      assert.deepEqual(strictMessages(sent as JsonObject[]), sent, 'and stays as it is')
    })
  }
})

describe('fields that exclude each other', () => {
  const cases: ReadonlyArray<readonly [given: JsonObject, sent: JsonObject]> = [
    [{ max_tokens: 1, max_completion_tokens: 2 }, { max_completion_tokens: 2 }],
    [{ tool_choice: 'auto', parallel_tool_calls: true, a: 1 }, { a: 1 }],
    [{ tools: [], tool_choice: 'none' }, {}],
    [{ tools: [1], tool_choice: 'none' }, { tools: [1], tool_choice: 'none' }],
    [{ stream_options: {} }, {}],
    [{ stream: true, stream_options: {} }, { stream: true, stream_options: {} }]
  ]
  it('are never sent together', () => {
    for (const [given, sent] of cases) assert.deepEqual(withoutConflicts(given), sent)
  })

  it('are those of the caller, where a prompt has the other', () => {
    assert.deepEqual(mergeFields({ max_completion_tokens: 1, top_p: 1 }, { max_tokens: 2 }), { max_tokens: 2, top_p: 1 })
    assert.deepEqual(mergeFields({ max_tokens: 1 }, { max_completion_tokens: 2 }), { max_completion_tokens: 2 })
    assert.deepEqual(mergeFields({ max_tokens: 1 }, { top_p: 1 }), { max_tokens: 1, top_p: 1 })
  })
})

describe('JSON in an answer', () => {
  const cases: ReadonlyArray<readonly [text: string, value: unknown]> = [
    ['{"a":1}', { a: 1 }],
    ['Well:\n```json\n{"a":1}\n```\nBye {x}', { a: 1 }],
    ['The set {a, b}: {"a":{"b":[1]}}, see [1].', { a: { b: [1] } }],
    ['{"text":"```\\n{}\\n```"}', { text: '```\n{}\n```' }],
    ['it is { open, and {"a":1}', { a: 1 }],
    ['3', 3]
  ]
  for (const [text, value] of cases) it(`is found: ${text.replaceAll('\n', '⏎')}`, () => { assert.deepEqual((jsonIn(text) as { value: unknown }).value, value) })

  it('is none, with the reason', () => {
    for (const text of ['', 'none', '{"a":', '[1, {']) assert.match((jsonIn(text) as { reason: string }).reason, /./)
  })

  it('is looked for in linear time', () => {
    const work = (text: string) => cpuTimeOf(() => jsonIn(text))
    for (const unit of ['{', '[', '```\n', '{"', 'a{b}']) {
      work(unit.repeat(20_000))
      assert.ok(work(unit.repeat(400_000)) < 100 * Math.max(5, work(unit.repeat(40_000))), unit)
    }
  })
})
