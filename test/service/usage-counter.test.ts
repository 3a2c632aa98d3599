import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Json } from '../../src/base/json.ts'
import { readUsage } from '../../src/llm/usage.ts'
import { UsageCounter } from '../../src/service/chat/models.ts'

describe('UsageCounter', () => {
  it('keeps no more than the beginning of a model\'s name', () => {
    const counter = new UsageCounter()
    counter.count('p', 'm'.repeat(1_000_000), { inputTokens: 1, outputTokens: 1, isEstimate: false })
    assert.equal(counter.read()[0]?.model, 'm'.repeat(200))
  })

  it('does not grow with the names that callers make up', () => {
    const counter = new UsageCounter()
    for (let call = 0; call < 20_000; call++) counter.count('p', `model-${call}`, { inputTokens: 1, outputTokens: 1, isEstimate: false })
    const rows = counter.read()
    assert.equal(rows.length, 5001)
    assert.deepEqual([rows.at(-1)?.model, rows.at(-1)?.calls], ['(others)', 15_000])
  })
})

describe('readUsage', () => {
  const none: Array<Json | undefined> = [undefined, null, 'much', [], {}, { prompt_tokens: '3' }, { prompt_tokens: -1 }, { prompt_tokens: 1, completion_tokens: NaN }, { prompt_tokens: 1.5 }, { prompt_tokens: 1e300 }]
  for (const usage of none) {
    it(`takes ${JSON.stringify(usage)} for none`, () => assert.equal(readUsage(usage), undefined))
  }

  it('takes the usage of embeddings, which have no output', () => {
    assert.deepEqual(readUsage({ prompt_tokens: 3, total_tokens: 3 }), { inputTokens: 3, outputTokens: 0, isEstimate: false })
  })
})
