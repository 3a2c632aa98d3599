import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { untilAborted } from '../../src/runtime/deadline.ts'
import { createGuard, DEFAULT_POLICY, parsePolicy } from '../../src/tool/guard.ts'
import { type JsonObject } from '../../src/base/json.ts'
import { ToolError } from '../../src/tool/tool-error.ts'

const guardWith = (registration: JsonObject) => createGuard(parsePolicy(registration, DEFAULT_POLICY))
const forever = new AbortController().signal

/** An attempt that a test ends by hand. */
function deferred () {
  let begin = () => {}
  const begun = new Promise<void>(resolve => { begin = resolve })
  let end: (error?: Error) => void = () => {}
  const ended = new Promise<void>((resolve, reject) => { end = error => { error === undefined ? resolve() : reject(error) } })
  return { begun, end, attempt: () => { begin(); return ended } }
}

/** A caller whose time ends now, after so much of it had passed when the attempt began. */
function callerOutOfTime (whole: number) {
  const controller = new AbortController()
  return { signal: controller.signal, time: { deadline: performance.now() + whole, whole }, expire: () => { controller.abort(new DOMException('over', 'TimeoutError')) } }
}

describe('the queue of a tool', () => {
  it('goes on to the next call when one that waits is given up', async () => {
    const guard = guardWith({ concurrency: 1 })
    const [first, third] = [deferred(), deferred()]
    const leaver = new AbortController()
    const running = guard.run(first.attempt, forever, undefined)
    const left = guard.run(async () => {}, leaver.signal, undefined)
    const waiting = guard.run(third.attempt, forever, undefined)
    leaver.abort()
    await assert.rejects(left, { code: 'ABORTED' })
    first.end()
    await Promise.all([running, third.begun])
    third.end()
    await waiting
  })

  it('does not count a call that was given up as waiting', async () => {
    const guard = guardWith({ concurrency: 1 })
    const first = deferred()
    const running = guard.run(first.attempt, forever, undefined)
    for (let round = 0; round < 2; round++) {
      const leaver = new AbortController()
      const waiting = Array.from({ length: 1000 }, () => guard.run(async () => {}, leaver.signal, undefined))
      leaver.abort()
      for (const outcome of await Promise.allSettled(waiting)) assert.equal((outcome as PromiseRejectedResult).reason.code, 'ABORTED')
    }
    first.end()
    await running
  })
})

describe('a call that cannot end in the time of its caller', () => {
  /** A guard that knows how long its tool takes. */
  async function experienced (registration: JsonObject) {
    const guard = guardWith(registration)
    for (let call = 0; call < 5; call++) await guard.run(() => new Promise<void>(resolve => { setTimeout(resolve, 20) }), forever, undefined)
    return guard
  }

  it('is refused at once, and not sent', async () => {
    const guard = await experienced({})
    let isSent = false
    await assert.rejects(guard.run(async () => { isSent = true }, forever, { deadline: performance.now() + 5, whole: 500 }), { code: 'BUSY' })
    assert.equal(isSent, false)
  })

  it('is refused when it would wait too long', async () => {
    const guard = await experienced({ concurrency: 1 })
    const first = deferred()
    const running = guard.run(first.attempt, forever, undefined)
    await first.begun
    await assert.rejects(guard.run(async () => {}, forever, { deadline: performance.now() + 25, whole: 500 }), { code: 'BUSY' })
    first.end()
    await running
  })

  it('is sent where there is time enough', async () => {
    const guard = await experienced({})
    await guard.run(async () => {}, forever, { deadline: performance.now() + 10_000, whole: 10_000 })
  })
})

describe('an attempt that the deadline of its caller cuts', () => {
  const cases: readonly [title: string, registration: JsonObject, whole: number, failures: number][] = [
    ['says nothing of a tool that had less than 80 % of the caller\'s time', {}, 60_000, 0],
    ['is a failure of a tool that had 80 % of it', {}, 1, 1],
    ['says nothing of a tool that had less than its timeout', { timeout: 60_000 }, 1, 0]
  ]
  for (const [title, registration, whole, failures] of cases) {
    it(title, async () => {
      const guard = guardWith(registration)
      const { signal, time, expire } = callerOutOfTime(whole)
      const attempt = (inner: AbortSignal) => {
        setTimeout(expire, 3)
        return untilAborted(inner, new Promise<void>(() => {}))
      }
      await assert.rejects(guard.run(attempt, signal, time), { code: 'TIMEOUT' })
      assert.equal(guard.breakerState()?.failures, failures)
    })
  }

  it('is a failure of a tool that had its timeout', async () => {
    const guard = guardWith({ timeout: 2 })
    const attempt = (inner: AbortSignal) => untilAborted(inner, new Promise<void>(() => {}))
    await assert.rejects(guard.run(attempt, forever, { deadline: performance.now() + 60_000, whole: 60_000 }), { code: 'TIMEOUT' })
    assert.equal(guard.breakerState()?.failures, 1)
  })

  it('never counts while it waits for a slot', async () => {
    const guard = guardWith({ concurrency: 1 })
    const first = deferred()
    const running = guard.run(first.attempt, forever, undefined)
    const { signal, time, expire } = callerOutOfTime(1)
    const waiting = guard.run(async () => { throw new ToolError('STATUS', 'sent', { transient: true }) }, signal, time)
    expire()
    await assert.rejects(waiting, { code: 'TIMEOUT' })
    first.end()
    await running
    assert.deepEqual(guard.breakerState(), { state: 'closed', failures: 0, calls: 1 })
  })
})
