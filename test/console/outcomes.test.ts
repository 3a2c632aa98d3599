import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Ended, outcomeChips } from '../../console/sessions/outcomes.ts'

const ROWS: ReadonlyArray<readonly [title: string, ended: Ended, chips: readonly string[]]> = [
  ['a command that waits', { phase: 'proposed' }, ['proposed/warn']],
  ['a call that a person rejected', { phase: 'ended', decision: 'reject', by: 'ann', outcome: 'refused' }, ['rejected ann/bad']],
  ['a command that a person rejected', { phase: 'proposed', decision: 'reject', by: 'ann' }, ['rejected ann/bad']],
  ['a call that a rule has denied', { phase: 'ended', deniedBy: 'no rule allows it' }, ['denied no rule allows it/bad']],
  ['a call that was refused without a question', { phase: 'ended', outcome: 'refused' }, ['outcome refused/bad']],
  ['a call that was allowed, and refused later', { phase: 'ended', decision: 'approve', by: 'ann', outcome: 'refused' }, ['outcome refused/bad']],
  ['a call that nobody was asked about', { phase: 'ended', outcome: 'ok' }, ['unasked/', 'outcome ok/good']],
  ['a call that a person allowed', { phase: 'ended', decision: 'approve', by: 'ann', outcome: 'ok' }, ['allowed ann/', 'outcome ok/good']],
  ['an allowed call that failed', { phase: 'ended', decision: 'approve', by: 'ann', outcome: 'failed' }, ['allowed ann/', 'outcome failed/bad']],
  ['an allowed call that was interrupted', { phase: 'ended', decision: 'approve', by: '', outcome: 'unknown' }, ['allowed/', 'unknown/warn']],
  ['a command that exits with 0', { phase: 'ended', decision: 'approve', by: 'ann', exitCode: 0 }, ['allowed ann/', 'exit 0/good']],
  ['a command that exits with 2', { phase: 'ended', exitCode: 2 }, ['unasked/', 'exit 2/bad']]
]

describe('What the console says became of', () => {
  for (const [title, ended, chips] of ROWS) {
    it(`${title}: ${chips.join(', ')}`, () => {
      assert.deepEqual(outcomeChips(ended).map(({ said, about, tone }) => `${[said, about].filter(word => word !== '').join(' ')}/${tone}`), chips)
    })
  }
})
