import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Json } from '../../src/base/json.ts'
import { readUsage } from '../../src/llm/usage.ts'

describe('readUsage', () => {
  const none: Array<Json | undefined> = [undefined, null, 'much', [], {}, { prompt_tokens: '3' }, { prompt_tokens: -1 }, { prompt_tokens: 1, completion_tokens: NaN }, { prompt_tokens: 1.5 }, { prompt_tokens: 1e300 }]
  for (const usage of none) {
    it(`takes ${JSON.stringify(usage)} for none`, () => assert.equal(readUsage(usage), undefined))
  }

  it('takes the usage of embeddings, which have no output', () => {
    assert.deepEqual(readUsage({ prompt_tokens: 3, total_tokens: 3 }), { inputTokens: 3, outputTokens: 0, isEstimate: false })
  })

  it('tells cached and reasoning tokens apart, where they are counts', () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 8 }, completion_tokens_details: { reasoning_tokens: 4 } }
    assert.deepEqual(readUsage(usage), { inputTokens: 10, outputTokens: 5, cachedTokens: 8, reasoningTokens: 4, isEstimate: false })
    assert.deepEqual(readUsage({ ...usage, prompt_tokens_details: null, completion_tokens_details: { reasoning_tokens: -1 } }), { inputTokens: 10, outputTokens: 5, isEstimate: false })
  })
})
