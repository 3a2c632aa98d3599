import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CallerSignal, toAbortSignal } from '../../src/runtime/caller-signal.ts'

/** A signal that is no AbortSignal, and the way to abort it. */
function callerSignal () {
  const controller = new AbortController()
  const inner = controller.signal
  const signal: CallerSignal = {
    get aborted () { return inner.aborted },
    get reason () { return inner.reason as unknown },
    throwIfAborted: () => { inner.throwIfAborted() },
    addEventListener: (type, listener) => { inner.addEventListener(type, listener) },
    removeEventListener: (type, listener) => { inner.removeEventListener(type, listener) }
  }
  return { signal, abort: (reason: Error) => { controller.abort(reason) } }
}

describe('toAbortSignal', () => {
  it('gives an AbortSignal back as it is', () => {
    const { signal } = new AbortController()
    assert.equal(toAbortSignal(signal), signal)
  })

  it('aborts when the caller leaves, with the same reason', () => {
    const { signal, abort } = callerSignal()
    const made = toAbortSignal(signal)
    assert.equal(made.aborted, false)
    abort(new Error('gone'))
    assert.deepEqual([made.aborted, (made.reason as Error).message], [true, 'gone'])
  })

  it('is aborted at once for a caller who has left', () => {
    const { signal, abort } = callerSignal()
    abort(new Error('gone'))
    assert.equal((toAbortSignal(signal).reason as Error).message, 'gone')
  })
})
