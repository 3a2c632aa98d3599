import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AttemptEnd, Breaker } from '../../src/tool/guard.ts'

const POLICY = { failureRate: 0.5, minimumCalls: 4, coolDown: 1000 }

/** A breaker with a clock that stands still unless a test moves it. */
function createBreaker () {
  let time = 0
  const breaker = new Breaker(POLICY, () => time)
  return {
    breaker,
    wait: (milliseconds: number) => { time += milliseconds },
    attempts: (...ends: AttemptEnd[]) => { for (const end of ends) breaker.begin()?.(end) }
  }
}

describe('a breaker', () => {
  const cases: readonly [title: string, ends: readonly AttemptEnd[], state: string][] = [
    ['stays closed below the minimum of calls', ['failure', 'failure', 'failure'], 'closed'],
    ['opens at the failure rate', ['success', 'success', 'failure', 'failure'], 'open'],
    ['stays closed below the failure rate', ['success', 'success', 'success', 'failure'], 'closed'],
    ['counts no attempt that says nothing of the tool', ['failure', 'unknown', 'unknown', 'failure'], 'closed']
  ]
  for (const [title, ends, state] of cases) {
    it(title, () => {
      const { breaker, attempts } = createBreaker()
      attempts(...ends)
      assert.equal(breaker.state().state, state)
    })
  }

  it('looks at no more than twice the minimum of calls', () => {
    const { breaker, attempts } = createBreaker()
    attempts(...Array<AttemptEnd>(20).fill('success'))
    assert.equal(breaker.state().calls, 8)
    attempts('failure', 'failure', 'failure', 'failure')
    assert.equal(breaker.state().state, 'open')
  })

  it('lets nothing pass while it is open', () => {
    const { breaker, attempts } = createBreaker()
    attempts('failure', 'failure', 'failure', 'failure')
    assert.equal(breaker.begin(), undefined)
  })

  it('lets one attempt pass after its cool-down', () => {
    const { breaker, attempts, wait } = createBreaker()
    attempts('failure', 'failure', 'failure', 'failure')
    wait(1000)
    assert.equal(breaker.state().state, 'half-open')
    assert.notEqual(breaker.begin(), undefined)
    assert.equal(breaker.begin(), undefined)
  })

  it('closes when that attempt succeeds', () => {
    const { breaker, attempts, wait } = createBreaker()
    attempts('failure', 'failure', 'failure', 'failure')
    wait(1000)
    attempts('success')
    assert.deepEqual(breaker.state(), { state: 'closed', failures: 0, calls: 0 })
  })

  it('stays open for another cool-down when it fails', () => {
    const { breaker, attempts, wait } = createBreaker()
    attempts('failure', 'failure', 'failure', 'failure')
    wait(1000)
    attempts('failure')
    assert.equal(breaker.begin(), undefined)
    wait(1000)
    assert.notEqual(breaker.begin(), undefined)
  })

  it('tries again when that attempt says nothing', () => {
    const { breaker, attempts, wait } = createBreaker()
    attempts('failure', 'failure', 'failure', 'failure')
    wait(1000)
    attempts('unknown')
    assert.notEqual(breaker.begin(), undefined)
  })
})
