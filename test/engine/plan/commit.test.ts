import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { commitMessage } from '../../../src/engine/plan/undo.ts'
import { type PlanSetting } from '../../../src/engine/plan/plan-setting.ts'
import { type CommitEffect } from '../../../src/session/model.ts'
import { approved } from '../../session/approve.ts'
import { PlanSession } from './plan-session.ts'

const setting: Partial<PlanSetting> = { schemaVersion: 2, language: 'en', confirm: 'none', repair: { rounds: 3, confirm: false, then: 'rollback' }, commit: 'request' }
const files = { 'a.ts': 'broken\n' }

/** A plan that has changed a.ts. */
function applied (own: Partial<PlanSetting> = {}): PlanSession {
  return new PlanSession('apply: mend it', { files, setting: { ...setting, ...own } })
    .answer({ context_requests: [{ type: 'read_file', path: 'a.ts' }] })
    .answer({ actions: [{ kind: 'EDIT_FILE', path: 'a.ts', edits: [{ search: 'broken', replace: 'one' }] }], summary: 'Mended a.' })
    .apply([{ kind: 'UPDATE_FILE', path: 'a.ts' }, { kind: 'CREATE_DIR', path: 'lib' }])
}

const commitOf = (plan: PlanSession): CommitEffect => plan.open('commit') as CommitEffect

/** Allows the commit that waits, and ends it. */
function committed (plan: PlanSession, more: object = {}): PlanSession {
  const { id } = plan.open('commit')
  assert.equal(plan.dialogue.session.status, 'waiting_approval')
  plan.dialogue.take(approved(plan.dialogue.session, id))
  plan.dialogue.end({ hash: '0123456789abcdef', ...more })
  return plan
}

describe('a plan commits what it has changed', () => {
  it('when it is told to: the files of its goal, with its summary', () => {
    const { paths, message, workspace } = commitOf(applied().say('commit'))
    assert.deepEqual([workspace, paths, message], ['shop', ['a.ts'], 'Mended a.'])
  })

  it('with the message that its user gives', () => {
    for (const words of ['commit Mend the price', 'commit: Mend the price']) assert.equal(commitOf(applied().say(words)).message, 'Mend the price')
    const plan = applied()
    plan.act('commit', { message: 'By an action' })
    assert.equal(commitOf(plan).message, 'By an action')
  })

  it('and says so, and that the commit stays when it is undone', () => {
    const plan = committed(applied().say('commit'))
    assert.deepEqual([plan.word, plan.result['commit']], ['applied', '0123456789abcdef'])
    assert.equal(plan.notices('stdout').at(-1)?.['text'], 'Committed 0123456789.')
    plan.say('undo').apply([{ kind: 'UPDATE_FILE', path: 'a.ts' }])
    assert.equal(plan.notices('stdout').at(-1)?.['text'], 'The commit 0123456789 stays; git revert takes it back.')
  })

  it('and says what the commit leaves out', () => {
    const plan = committed(applied().say('commit'), { leftOut: [{ path: 'b.md', reason: 'ignored' }, { path: 'sub/x', reason: 'in the submodule sub' }] })
    assert.equal(plan.notices('stdout').at(-1)?.['text'], 'Not in the commit: b.md (ignored), sub/x (in the submodule sub).')
  })

  it('and is as it was when a person refuses', () => {
    const plan = applied().say('commit')
    plan.dialogue.take({ kind: 'refused', effect: plan.open('commit').id, by: 'person', reason: 'no' })
    assert.deepEqual([plan.word, plan.result['ok'], plan.result['commit']], ['applied', true, undefined])
  })

  it('and is as it was when a rule denies it, or git fails', () => {
    for (const [code, fact] of [['COMMIT_DENIED', { kind: 'refused', by: 'policy', reason: 'the operator denies "git commit"' }], ['COMMIT_FAILED', { kind: 'failure', code: 'COMMIT_FAILED', message: 'exit code 1' }]] as const) {
      const plan = applied().say('commit')
      plan.dialogue.take({ ...fact, effect: plan.open('commit').id })
      assert.deepEqual([plan.word, plan.dialogue.session.status, plan.result['error_code']], ['applied', 'waiting_input', code])
    }
  })

  it('by itself once its checks have passed, where its profile says so', () => {
    const plan = applied({ commit: 'passed', checks: ['test'] })
    plan.open('check')
    plan.dialogue.end({ outcome: 'exited', exitCode: 0, stdout: '', stderr: '' })
    assert.equal(commitOf(plan).message, 'Mended a.')
  })

  it('not by itself where nothing was checked', () => assert.equal(applied({ commit: 'passed', checks: [] }).open('wait').kind, 'wait'))

  it('never where that is not allowed, nor where nothing is changed', () => {
    const refusal = (plan: PlanSession, name = 'commit') => plan.dialogue.session.engine.refuses('', { name, data: {} })?.kind
    assert.equal(refusal(applied({ commit: 'never' })), 'disabled')
    assert.equal(refusal(new PlanSession('plan: look', { files, setting }).answer({ actions: [], summary: 'Diagnosis.' })), 'busy')
    assert.equal(applied({ commit: 'never' }).dialogue.session.engine.refuses('commit', undefined)?.kind, 'disabled')
  })

  it('and takes other words for the next goal', () => assert.equal(applied().say('committee: add one').word, 'planning'))
})

describe('the message of a commit', () => {
  const long = 'x'.repeat(80)
  const messages: ReadonlyArray<readonly [string, string]> = [
    ['Mend a', 'Mend a'],
    ['Mend a\nand b\r\n', 'Mend a\n\nand b'],
    ['Mend\x1b[31m a\0', 'Mend[31m a'],
    ['', 'Change files']
  ]
  for (const [text, message] of messages) it(`of ${JSON.stringify(text)} is ${JSON.stringify(message)}`, () => { assert.equal(commitMessage(text), message) })

  it('has a first line of 72 characters, and all of a longer one below', () => {
    const [subject, empty, ...body] = commitMessage(long).split('\n')
    assert.deepEqual([Array.from(subject ?? '').length <= 72, empty, body], [true, '', [long]])
  })
})
