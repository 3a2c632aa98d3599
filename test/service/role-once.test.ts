import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../src/base/json.ts'
import { RoleOnce } from '../../src/service/chat/chat-with-prompt.ts'

describe('the role of an answer in turns', () => {
  const frame = (data: string) => ({ kind: 'chunk' as const, chunk: JSON.parse(data) as JsonObject, data, bytes: Buffer.from(`data: ${data}\n\n`) })
  const begin = frame('{"choices":[{"delta":{"role":"assistant","content":"a"}}]}')

  it('is passed on once', () => {
    const role = new RoleOnce()
    assert.equal(role.pass(begin), begin.bytes)
    assert.equal(role.pass(begin).toString(), 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n')
  })

  it('leaves all digits to the rest of its event', () => {
    const role = new RoleOnce()
    role.pass(begin)
    assert.equal(role.pass(frame('{"id":9007199254740993,"choices":[{"delta":{"role":"assistant"}}]}')).toString(), 'data: {"id":9007199254740993,"choices":[{"delta":{}}]}\n\n')
  })

  it('stays in an event that could not be written again', () => {
    const role = new RoleOnce()
    role.pass(begin)
    const endless = frame('{"choices":[{"delta":{"role":"assistant"},"logprob":-1e400}]}')
    assert.equal(role.pass(endless), endless.bytes)
  })
})
