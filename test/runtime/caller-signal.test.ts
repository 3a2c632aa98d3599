import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LightSignal, toAbortSignal } from '../../src/runtime/deadline.ts'

describe('LightSignal', () => {
  it('calls its listeners once, and keeps the first reason', () => {
    const signal = new LightSignal()
    let calls = 0
    signal.addEventListener('abort', () => calls++)
    signal.abort('first')
    signal.abort('second')
    assert.deepEqual([calls, signal.aborted, signal.reason], [1, true, 'first'])
    assert.throws(() => signal.throwIfAborted(), reason => reason === 'first')
  })

  it('calls no listener that was removed', () => {
    const signal = new LightSignal()
    const removed = () => assert.fail('was removed')
    signal.addEventListener('abort', removed)
    signal.removeEventListener('abort', removed)
    signal.abort('left')
  })
})

describe('toAbortSignal', () => {
  it('gives an AbortSignal back as it is', () => {
    const { signal } = new AbortController()
    assert.equal(toAbortSignal(signal), signal)
  })

  it('aborts when the caller leaves, with the same reason', () => {
    const signal = new LightSignal()
    const made = toAbortSignal(signal)
    assert.equal(made.aborted, false)
    signal.abort(new Error('gone'))
    assert.deepEqual([made.aborted, (made.reason as Error).message], [true, 'gone'])
  })

  it('is aborted at once for a caller who has left', () => {
    const signal = new LightSignal()
    signal.abort(new Error('gone'))
    assert.equal((toAbortSignal(signal).reason as Error).message, 'gone')
  })
})
