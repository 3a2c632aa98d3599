import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { terminalEngine } from '../../../src/engine/terminal-engine.ts'
import { type LaterFact } from '../../../src/session/engine.ts'

const MOMENT = { session: 's', seq: 1, at: 0, effects: 0, notices: 0 }

const STARTED = {
  engine: 'terminal/1',
  definition: 'terminals/web',
  revision: '',
  input: {},
  owner: 'ann',
  budget: { steps: 1, tokens: 1, idle: 0 },
  ask: [],
  setting: { terminal: { target: 'web', cols: 80, rows: 24, at: '' } }
}

describe('The session of a terminal', () => {
  it('asks for one shell, and says who has opened it where', () => {
    const { state, effects, notices } = terminalEngine.begin(STARTED, MOMENT)
    assert.deepEqual(effects, [{ id: '1.0', kind: 'shell', target: 'web', cols: 80, rows: 24 }])
    assert.deepEqual(notices[0], { type: 'terminal', data: { terminalId: 's', state: 'open', target: 'web', by: 'ann' } })
    assert.equal(terminalEngine.view(state).outcome, 'open')
  })

  const ENDS: ReadonlyArray<[string, LaterFact, string, string]> = [
    ['is completed when the shell has ended', { kind: 'result', effect: '1.0', result: { reason: 'exit', exitCode: 3 } }, 'completed', 'the shell has ended with code 3'],
    ['is completed when a signal has ended the shell', { kind: 'result', effect: '1.0', result: { reason: 'exit', exitCode: null, signal: 'SIGHUP' } }, 'completed', 'the shell was ended by the signal SIGHUP'],
    ['has failed when the service was stopped', { kind: 'result', effect: '1.0', result: { reason: 'the service was stopped', exitCode: null } }, 'failed', 'the service was stopped'],
    ['has failed when the connection was lost', { kind: 'unknown', effect: '1.0' }, 'failed', 'the connection was lost'],
    ['has failed when no shell could be begun', { kind: 'failure', effect: '1.0', code: 'TARGET_UNREACHABLE', message: 'nobody answers' }, 'failed', 'nobody answers'],
    ['has failed when it was not allowed', { kind: 'refused', effect: '1.0', by: 'policy', reason: 'no' }, 'failed', 'no']
  ]
  for (const [what, fact, outcome, reason] of ENDS) {
    it(what, () => {
      const { state } = terminalEngine.begin(STARTED, MOMENT)
      const { state: ended, notices } = terminalEngine.next(state, fact, { ...MOMENT, seq: 2 })
      const view = terminalEngine.view(ended)
      assert.deepEqual([view.outcome, view.result?.reason], [outcome, reason])
      assert.equal(notices.find(({ type }) => type === 'terminal')?.data['state'], 'closed')
    })
  }

  it('takes no words', () => {
    assert.equal(terminalEngine.refuses?.(terminalEngine.begin(STARTED, MOMENT).state, 'ls', undefined)?.kind, 'busy')
  })
})
