import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CONTENT } from '../../src/observe/content.ts'
import type { Json, JsonObject } from '../../src/base/json.ts'

const CALL = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }

const MESSAGES: readonly { readonly title: string, readonly message: JsonObject, readonly parts: Json }[] = [
  { title: 'a text', message: { content: 'hi' }, parts: [{ type: 'text', content: 'hi' }] },
  { title: 'no content', message: { content: null }, parts: [] },
  { title: 'parts of text', message: { content: [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }] }, parts: [{ type: 'text', content: 'a' }, { type: 'text', content: 'b' }] },
  { title: 'an image by its address', message: { content: [{ type: 'image_url', image_url: { url: 'https://a.test/b.png' } }] }, parts: [{ type: 'uri', modality: 'image', uri: 'https://a.test/b.png' }] },
  { title: 'an image without its bytes', message: { content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] }, parts: [{ type: 'blob', modality: 'image', mime_type: 'image/png', content: '', left_out: 4 }] },
  { title: 'a sound without its bytes', message: { content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }] }, parts: [{ type: 'blob', modality: 'audio', mime_type: 'audio/wav', content: '', left_out: 4 }] },
  { title: 'a file by its id', message: { content: [{ type: 'file', file: { file_id: 'f1' } }] }, parts: [{ type: 'file', modality: 'document', file_id: 'f1' }] },
  { title: 'a part of another type', message: { content: [{ type: 'new', x: 1 }] }, parts: [{ type: 'new', content: { type: 'new', x: 1 } }] },
  { title: 'a call', message: { content: null, tool_calls: [CALL] }, parts: [{ type: 'tool_call', id: 'call_1', name: 'f', arguments: { a: 1 } }] },
  { title: 'a call whose arguments are no JSON', message: { content: null, tool_calls: [{ ...CALL, function: { name: 'f', arguments: '{"a' } }] }, parts: [{ type: 'tool_call', id: 'call_1', name: 'f', arguments: '{"a' }] },
  { title: 'an older call', message: { content: null, function_call: CALL.function }, parts: [{ type: 'tool_call', id: null, name: 'f', arguments: { a: 1 } }] },
  { title: 'a result', message: { role: 'tool', tool_call_id: 'call_1', content: 'x' }, parts: [{ type: 'tool_call_response', id: 'call_1', response: 'x' }] },
  { title: 'thoughts and a refusal', message: { content: '', reasoning_content: 'hm', refusal: 'no' }, parts: [{ type: 'reasoning', content: 'hm' }, { type: 'text', content: 'no' }] },
  { title: 'a secret in a text', message: { content: 'Bearer abc.def' }, parts: [{ type: 'text', content: '__REDACTED_BEARER__' }] },
  { title: 'a secret of a call by its name', message: { content: null, tool_calls: [{ ...CALL, function: { name: 'f', arguments: '{"deep":[{"api_key":"x"}]}' } }] }, parts: [{ type: 'tool_call', id: 'call_1', name: 'f', arguments: { deep: [{ api_key: '[secret]' }] } }] }
]

function inputOf (messages: Json): { readonly messages: ReadonlyArray<{ readonly role: string, readonly parts: JsonObject[] }>, readonly attributes: ReturnType<typeof CONTENT['input']> } {
  const attributes = CONTENT.input({ messages })
  return { messages: JSON.parse(String(attributes['gen_ai.input.messages'])), attributes }
}

describe('what was said, as attributes', () => {
  for (const { title, message, parts } of MESSAGES) {
    it(`has ${title}`, () => {
      assert.deepEqual(inputOf([{ role: 'user', ...message }]).messages[0]?.parts, parts)
    })
  }

  it('has the instructions at the beginning apart, and later ones in their place', () => {
    const { attributes, messages } = inputOf([{ role: 'system', content: 'a' }, { role: 'developer', content: 'b' }, { role: 'user', content: 'c' }, { role: 'system', content: 'd' }])
    assert.equal(attributes['gen_ai.system_instructions'], '[{"type":"text","content":"a"},{"type":"text","content":"b"}]')
    assert.deepEqual(messages.map(({ role }) => role), ['user', 'system'])
  })

  it('keeps the last messages of a long conversation, and says how many are left out', () => {
    const { attributes, messages } = inputOf(Array.from({ length: 100 }, (_, index) => ({ role: 'user', content: `${index} ${'x'.repeat(1000)}` })))
    assert.ok(messages.length > 10 && messages.length < 40)
    assert.match(String(messages.at(-1)?.parts[0]?.['content']), /^99 /)
    assert.deepEqual([attributes['prompt_shell.content.messages_left_out'], attributes['prompt_shell.content.truncated']], [100 - messages.length, true])
  })

  for (const [title, message] of [
    ['one text', { content: 'x'.repeat(10_000_000) }],
    ['many parts', { content: Array.from({ length: 100_000 }, () => ({ type: 'text', text: '' })) }],
    ['many calls', { content: null, tool_calls: Array.from({ length: 100_000 }, () => CALL) }],
    ['long names', { content: null, tool_calls: [{ id: 'x'.repeat(1_000_000), function: { name: 'x'.repeat(1_000_000), arguments: '{}' } }] }],
    ['a long result', { role: 'tool', content: 'x'.repeat(1_000_000) }]
  ] as ReadonlyArray<readonly [string, JsonObject]>) {
    it(`is bounded for ${title}, and says that it is cut`, () => {
      const input = CONTENT.input({ messages: [{ role: 'user', ...message }] })
      const output = CONTENT.output([{ message, finish_reason: 'stop' }])
      for (const [name, attributes] of [['gen_ai.input.messages', input], ['gen_ai.output.messages', output]] as const) {
        assert.ok(String(attributes[name]).length < 200_000, String(String(attributes[name]).length))
        assert.equal(attributes['prompt_shell.content.truncated'], true)
      }
    })
  }

  it('is bounded for many empty messages and choices', () => {
    const many = Array.from({ length: 1_000_000 }, () => ({}))
    assert.ok(String(CONTENT.input({ messages: many })['gen_ai.input.messages']).length < 100_000)
    assert.ok(String(CONTENT.output(many)['gen_ai.output.messages']).length < 100_000)
  })

  it('has the names of offered functions, and what ends an answer', () => {
    const tools = [{ type: 'function', function: { name: 'f', description: 'long', parameters: {} } }]
    const { 'gen_ai.tool.definitions': offered, 'gen_ai.request.stop_sequences': stop } = CONTENT.input({ messages: [], tools, stop: ['a', 'Bearer abc.def'] })
    assert.deepEqual([offered, stop], ['[{"type":"function","name":"f"}]', ['a', '__REDACTED_BEARER__']])
    assert.deepEqual(CONTENT.input({ messages: [], stop: 'a' })['gen_ai.request.stop_sequences'], ['a'])
  })

  it('has the variables of a prompt each by its name, without secrets and bounded', () => {
    assert.deepEqual(CONTENT.variables({ name: 'Ada', password: 'x', list: [1] }), {
      'gen_ai.prompt.variable.name': 'Ada',
      'gen_ai.prompt.variable.password': '[secret]',
      'gen_ai.prompt.variable.list': '[1]'
    })
    const many = CONTENT.variables(Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`${index}${'n'.repeat(1000)}`, 'x'.repeat(1000)])))
    assert.equal(many['prompt_shell.content.truncated'], true)
    assert.ok(JSON.stringify(many).length < 100_000)
  })

  it('has arguments and results of tools as JSON, cut to its beginning where they are long', () => {
    assert.deepEqual(CONTENT.arguments({ a: 1, password: 'x' }), { 'gen_ai.tool.call.arguments': '{"a":1,"password":"[secret]"}' })
    assert.deepEqual(CONTENT.result('plain sk-abc'), { 'gen_ai.tool.call.result': 'plain __REDACTED_API_KEY__' })
    const { 'gen_ai.tool.call.result': text, ...told } = CONTENT.result({ long: 'x'.repeat(1_000_000) })
    assert.match(String(text), /^\{"long":"x{1000,}…\[truncated\]$/)
    assert.deepEqual(told, { 'prompt_shell.content.truncated': true })
  })
})
