import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { modelUpstream } from '../../src/base/errors.ts'
import { UpstreamError } from '../../src/llm/upstream-error.ts'
import { serializeError } from '../../src/observe/log.ts'
import { ToolError } from '../../src/tool/tool-error.ts'

const upstream = new UpstreamError('the upstream reported an error', { retryable: true, status: 503, quote: 'you said hunter2', answer: '<p>hunter2' })

describe('serializeError', () => {
  it('leaves out what an error quotes, and the stack of one that was to be expected', () => {
    assert.deepEqual(serializeError(upstream, false), { type: 'UpstreamError', message: 'the upstream reported an error', status: 503 })
    assert.deepEqual(serializeError(new ToolError('TOOL_ERROR', 'answered with an error', { quote: 'hunter2' }), false), { type: 'ToolError', message: 'answered with an error' })
    assert.deepEqual(serializeError(modelUpstream('one', 'you said hunter2', 3, undefined, undefined), false), { type: 'ServiceError', code: 'LLM_UPSTREAM', status: 502 })
  })

  it('keeps the quotes when values may be logged', () => {
    assert.deepEqual(serializeError(upstream, true), { type: 'UpstreamError', message: 'the upstream reported an error: you said hunter2', status: 503, answer: '<p>hunter2' })
    assert.match(String(serializeError(modelUpstream('one', 'you said hunter2', 3, undefined, undefined), true).message), /hunter2/)
  })

  it('keeps all of an error that nobody expected', () => {
    const { type, message, stack } = serializeError(new TypeError('x is not a function'), false)
    assert.deepEqual([type, message], ['TypeError', 'x is not a function'])
    assert.match(String(stack), /serialize-error\.test/)
  })
})
