import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DEFAULT_RETRY } from '../../../src/llm/create-model-client.ts'

describe('DEFAULT_RETRY', () => {
  it('tries again after 100 ms and then after 300 ms', () => {
    assert.deepEqual(DEFAULT_RETRY.delays, [100, 300])
  })

  it('ends a wait when the signal aborts', async () => {
    await assert.rejects(DEFAULT_RETRY.wait(100_000, AbortSignal.abort()), { name: 'AbortError' })
  })
})
