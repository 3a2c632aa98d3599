import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RoleOnce } from '../../src/service/chat/role-once.ts'

describe('the role of an answer in turns', () => {
  const event = (data: string) => ({ data, bytes: Buffer.from(`data: ${data}\n\n`), name: '', strangeLine: undefined })
  const begin = event('{"choices":[{"delta":{"role":"assistant","content":"a"}}]}')

  it('is told once', () => {
    const role = new RoleOnce()
    assert.equal(role.pass(begin), begin.bytes)
    assert.equal(role.pass(begin).toString(), 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n')
  })

  it('stays in an event that could not be written again', () => {
    const role = new RoleOnce()
    role.pass(begin)
    const endless = event('{"choices":[{"delta":{"role":"assistant"},"logprob":-1e400}]}')
    assert.equal(role.pass(endless), endless.bytes)
  })
})
