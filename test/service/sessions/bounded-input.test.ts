import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { boundedInput } from '../../../src/service/sessions/session-service.ts'

describe('An input', () => {
  it('has at most 512 KiB, its action counted', () => {
    assert.equal(boundedInput('x'.repeat(512 * 1024), undefined), undefined)
    for (const [text, action] of [['x'.repeat(512 * 1024 + 1), undefined], ['é'.repeat(256 * 1024 + 1), undefined], ['', { name: 'script', data: { text: 'x'.repeat(512 * 1024) } }]] as const) {
      assert.throws(() => boundedInput(text, action), { code: 'REQUEST_INVALID' })
    }
  })

  it('keeps beginning and end of what a command has printed', () => {
    const stdout = `start${'é'.repeat(500_000)}end`
    const { data } = boundedInput('', { name: 'command_result', data: { stdout, stderr: 'oh', exitCode: 1 } }) ?? {}
    const kept = data?.['stdout'] as string
    assert.ok(Buffer.byteLength(kept) < 66 * 1024)
    assert.match(kept, /^starté+\n\.\.\.\[TRUNCATED \d+ bytes\]\.\.\.\né+end$/)
    assert.deepEqual([data?.['stderr'], data?.['exitCode']], ['oh', 1])
  })

  it('that fits is taken as it is', () => {
    const action = { name: 'command_result', data: { stdout: 'a\u001b[31m', exitCode: 0 } }
    assert.deepEqual(boundedInput('', action), action)
  })
})
