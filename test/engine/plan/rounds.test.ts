import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import { contextBlockOf } from '../../../src/engine/plan/messages.ts'
import { type PlanSetting } from '../../../src/engine/plan/plan-setting.ts'
import { PlanSession } from './plan-session.ts'

const setting: Partial<PlanSetting> = { schemaVersion: 2, language: 'en', confirm: 'diff', repair: { rounds: 3, confirm: false, then: 'rollback' }, checks: ['test'] }
const files = { 'a.ts': 'broken\n', 'b.ts': 'other\n' }

const edit = (replace: string, path = 'a.ts') => ({ kind: 'EDIT_FILE', path, edits: [{ search: 'broken', replace }] })
const failing = { outcome: 'exited', exitCode: 1, stdout: 'not ok 1', stderr: '' }
const passing = { outcome: 'exited', exitCode: 0, stdout: '', stderr: '' }

/** A plan whose model has read a.ts and b.ts, and proposes an edit. */
function proposed (own: Partial<PlanSetting> = {}, goal = 'apply: mend it'): PlanSession {
  return new PlanSession(goal, { files, setting: { ...setting, ...own } })
    .answer({ context_requests: [{ type: 'read_file', path: 'a.ts' }, { type: 'read_file', path: 'b.ts' }] })
    .answer({ actions: [edit('one')], summary: 'First.' }).read()
}

/** The same, agreed to and written, with a check that runs. */
function written (own?: Partial<PlanSetting>): PlanSession {
  return proposed(own).say('ok').apply([{ kind: 'UPDATE_FILE', path: 'a.ts' }])
}

const check = (plan: PlanSession, result: JsonObject): PlanSession => {
  plan.open('check')
  plan.dialogue.end(result)
  return plan
}

describe('a plan of schema 2 shows its diff', () => {
  it('and waits for its user', () => {
    const plan = proposed()
    assert.deepEqual([plan.word, plan.dialogue.session.status], ['awaiting_confirmation', 'waiting_input'])
    assert.deepEqual((plan.result['held'] as JsonObject)['paths'], ['a.ts'])
    assert.equal(plan.notices('stdout').at(-1)?.['text'], 'This is the change. ok writes it, reject drops it, other words change it.')
  })

  for (const words of ['ok', 'Yes!', 'да', 'lgtm']) {
    it(`and writes what was shown after "${words}"`, () => {
      const plan = proposed().say(words)
      const { change } = plan.open('apply')
      assert.deepEqual((change['do'] as JsonObject)['actions'], [edit('one')])
      assert((change['do'] as JsonObject)['shown'] !== undefined)
    })
  }

  it('and writes nothing for another digest', () => {
    const plan = proposed()
    plan.act('apply', { digest: 'of something else' })
    assert.equal(plan.word, 'awaiting_confirmation')
    plan.act('apply', { digest: (plan.result['held'] as JsonObject)['digest'] as string })
    plan.open('apply')
  })

  it('and asks the model for another one after other words', () => {
    const plan = proposed().say('use two instead')
    const { messages } = plan.open('llm')
    assert.match(String(messages.at(-1)?.['content']), /^The change that was shown was NOT written\. The user says: use two instead/)
    assert.equal(plan.answer({ actions: [edit('two')], summary: 'Second.' }).read().word, 'awaiting_confirmation')
  })

  it('and drops it when it is rejected', () => assert.equal(proposed().say('reject').word, 'rejected'))

  it('and writes at once where only deletions wait, or nothing does', () => {
    for (const confirm of ['deletions', 'none'] as const) assert.equal(proposed({ confirm }).open('apply').deletes, false)
  })

  it('and holds deletions for whoever may approve them', () => {
    const plan = new PlanSession('apply: delete it', { files, setting }).answer({ actions: [{ kind: 'DELETE_FILE', path: 'a.ts' }], summary: 'Gone.' }).read()
    assert.equal(plan.open('apply').deletes, true)
    assert.equal(plan.dialogue.session.status, 'waiting_approval')
  })
})

describe('a plan whose check fails', () => {
  it('keeps its change, and the model reads what the check said', () => {
    const plan = check(written(), failing)
    plan.read()
    const [asked] = plan.open('llm').messages.slice(-1)
    assert.match(String(asked?.['content']), /CHECK\[test\]: exit code 1\nnot ok 1/)
    assert.match(String(asked?.['content']), /FILE\[a\.ts\]/)
    assert.equal(plan.notices('stdout').at(-1)?.['text'], 'test failed; attempt 1 of 3.')
  })

  it('writes a round without a stop in the files that were agreed to', () => {
    const plan = check(written(), failing).answer({ actions: [edit('two')], summary: 'Second.' }).read()
    plan.open('apply')
  })

  const STOPS: ReadonlyArray<[string, Partial<PlanSetting>, string]> = [
    ['that touches another file', {}, 'b.ts'],
    ['where each is to be shown', { repair: { rounds: 3, confirm: true, then: 'rollback' } }, 'a.ts']
  ]
  for (const [title, own, path] of STOPS) {
    it(`stops before a round ${title}`, () => {
      const plan = check(written(own), failing).answer({ actions: [edit('two', path)], summary: 'Second.' }).read()
      assert.equal(plan.word, 'awaiting_confirmation')
    })
  }

  it('takes back all rounds when none is left, and goes on', () => {
    const plan = check(written({ repair: { rounds: 1, confirm: false, then: 'rollback' } }), failing).answer({ actions: [edit('two')], summary: 'Second.' }).apply([{ kind: 'UPDATE_FILE', path: 'a.ts' }])
    check(plan, failing)
    const undone = [plan.open('apply').change]
    plan.apply([{ kind: 'UPDATE_FILE', path: 'a.ts' }])
    undone.push(plan.open('apply').change)
    plan.apply([{ kind: 'UPDATE_FILE', path: 'a.ts' }])
    assert.deepEqual(undone.map(each => Object.keys((each['undo'] ?? {}) as JsonObject)), [['of'], ['of']])
    assert.notDeepEqual(undone[0], undone[1])
    assert.deepEqual([plan.word, plan.dialogue.session.status, plan.result['error_code']], ['undone', 'waiting_input', 'AUTO_CHECK_FAILED_ROLLED_BACK'])
  })

  it('takes all back when its user rejects the diff of a round', () => {
    const plan = check(written(), failing).answer({ actions: [edit('two', 'b.ts')], summary: 'Second.' }).read().say('reject')
    plan.apply([{ kind: 'UPDATE_FILE', path: 'a.ts' }])
    assert.deepEqual([plan.word, plan.dialogue.session.status], ['undone', 'waiting_input'])
  })

  it('tells the model what the check said, also when it is asked again', () => {
    const plan = check(written(), failing).read()
    plan.dialogue.fail('connect ECONNREFUSED', 'LLM_ERROR')
    assert.deepEqual([plan.word, plan.result['error_code']], ['applied', 'LLM_ERROR'])
    plan.say('/retry')
    while (plan.dialogue.effect().kind === 'read') plan.read()
    assert.match(String(plan.open('llm').messages.at(-1)?.['content']), /CHECK\[test\]: exit code 1/)
  })

  it('gives up when the model has nothing to change', () => {
    const plan = check(written(), failing).answer({ actions: [], summary: 'NO_CHANGES: all is well' })
    plan.apply([{ kind: 'UPDATE_FILE', path: 'a.ts' }])
    assert.deepEqual([plan.word, plan.result['error_code']], ['undone', 'AUTO_CHECK_FAILED_ROLLED_BACK'])
  })

  it('gives up when the edit of its last round is not found', () => {
    const plan = check(written({ repair: { rounds: 1, confirm: false, then: 'rollback' } }), failing).answer({ actions: [edit('two')], summary: 'Second.' })
    plan.open('read')
    plan.dialogue.end({ blocks: [{ type: 'missing', request: { type: 'preview' }, code: 'ERR_EDIT_NOT_FOUND', reason: 'ERR_EDIT_NOT_FOUND: not there' }] })
    plan.apply([{ kind: 'UPDATE_FILE', path: 'a.ts' }])
    assert.deepEqual([plan.word, plan.result['error_code']], ['undone', 'AUTO_CHECK_FAILED_ROLLED_BACK'])
  })

  it('can still be undone when the next goal needs nothing', () => {
    const plan = check(written(), passing).say('apply: look at the rest').answer({ actions: [], summary: 'NO_CHANGES: nothing' })
    assert.equal(plan.word, 'applied')
    assert.equal(plan.open('wait').kind, 'wait')
  })

  it('gives up when the model does the same again', () => {
    const plan = check(written(), failing).answer({ actions: [edit('one')], summary: 'Again.' }).apply()
    check(plan, failing)
    assert.equal(plan.open('apply').change['undo'] !== undefined, true)
  })

  it('keeps the change where that is wanted', () => {
    const plan = check(written({ repair: { rounds: 0, confirm: false, then: 'keep' } }), failing)
    assert.deepEqual([plan.word, plan.result['error_code']], ['applied', 'AUTO_CHECK_FAILED_KEPT'])
  })

  it('is undone as one, whatever it took', () => {
    const plan = check(written(), failing).answer({ actions: [edit('two')], summary: 'Second.' }).apply([{ kind: 'UPDATE_FILE', path: 'a.ts' }])
    check(plan, passing)
    assert.equal(plan.word, 'applied')
    plan.say('undo').apply([{ kind: 'UPDATE_FILE', path: 'a.ts' }])
    assert.equal(plan.word, 'applying')
    plan.apply([{ kind: 'UPDATE_FILE', path: 'a.ts' }])
    assert.equal(plan.word, 'undone')
  })
})

describe('a plan of schema 2 goes on', () => {
  it('after a model that fails, and asks again when it is told to', () => {
    const plan = new PlanSession('plan: mend it', { files, setting }).read()
    plan.open('llm')
    plan.dialogue.fail('connect ECONNREFUSED', 'LLM_ERROR')
    assert.deepEqual([plan.word, plan.dialogue.session.status, plan.result['error_code']], ['draft', 'waiting_input', 'LLM_ERROR'])
    plan.say('/retry').answer({ actions: [], summary: 'Diagnosis.' })
    assert.equal(plan.word, 'planned')
  })

  it('after answers that cannot be taken', () => {
    const plan = new PlanSession('plan: mend it', { files, setting: { ...setting, repair: { rounds: 1, confirm: false, then: 'rollback' } } }).answer('no').answer('still no')
    assert.deepEqual([plan.word, plan.result['error_code']], ['draft', 'ERR_JSON_EXTRACT'])
    assert.equal(plan.say('plan: try this').answer({ actions: [], summary: 'Diagnosis.' }).word, 'planned')
  })

  it('with the next goal after a change was made', () => {
    const plan = check(written(), passing)
    assert.equal(plan.word, 'applied')
    assert.equal(plan.say('plan: look at the rest').word, 'planning')
    plan.answer({ actions: [], summary: 'Nothing.' })
    assert.equal(plan.word, 'planned')
  })

  it('when an edit is not found: the model reads why', () => {
    const plan = new PlanSession('apply: mend it', { files, setting }).answer({ context_requests: [{ type: 'read_file', path: 'a.ts' }] }).answer({ actions: [edit('one')], summary: 'First.' })
    plan.open('read')
    plan.dialogue.end({ blocks: [{ type: 'missing', request: { type: 'preview' }, code: 'ERR_EDIT_NOT_FOUND', reason: 'ERR_EDIT_NOT_FOUND: not there' }] })
    assert.match(String(plan.open('llm').messages.at(-1)?.['content']), /ERR_EDIT_NOT_FOUND: not there/)
  })

  it('when a file has changed after consent: it is read again, and the new diff waits', () => {
    const plan = proposed().say('ok')
    plan.open('apply')
    plan.dialogue.fail('changed since it was shown: "a.ts"; nothing was written', 'ERR_BASE_CHANGED')
    assert.deepEqual(plan.open('read').requests, [{ type: 'read_file', path: 'a.ts', end_line: 5000 }])
    assert.equal(plan.answer({ actions: [edit('two')], summary: 'Second.' }).read().word, 'awaiting_confirmation')
  })
})

describe('a plan of schema 2 refuses', () => {
  it('an UPDATE_FILE of a file that was not shown in full', () => {
    const plan = new PlanSession('apply: mend it', { files: { 'a.ts': 'x\n...[TRUNCATED 9 chars]...\ny' }, setting })
      .answer({ context_requests: [{ type: 'read_file', path: 'a.ts' }] }).answer({ actions: [{ kind: 'UPDATE_FILE', path: 'a.ts', content: 'y' }], summary: 'x' })
    assert.match(String(plan.open('llm').messages.at(-1)?.['content']), /ERR_UPDATE_PARTIAL/)
  })
})

describe('a goal that is a failing check', () => {
  const fixing = () => new PlanSession('', { files, setting, input: { fix: 'test' } })

  it('runs the check first, and is done when it passes', () => assert.equal(check(fixing(), passing).word, 'no_changes'))

  it('asks for changes with what the check said', () => {
    const plan = check(fixing(), failing).read()
    const { messages, purpose } = plan.open('llm')
    assert.equal(purpose, 'apply')
    assert.match(String(messages.at(-1)?.['content']), /CHECK\[test\]: exit code 1/)
  })
})

describe('what the model is shown of a file', () => {
  for (const [title, block, shown] of [
    ['has the blank lines at its end', { startLine: 1, endLine: 3, text: 'a\n\n' }, '1|a\n2|\n3|'],
    ['is one blank line where the file has no other', { startLine: 1, endLine: 1, text: '' }, '1|'],
    ['is nothing where there is no line', { startLine: 1, endLine: 0, text: '' }, ''],
    ['begins with what the lines do not show', { startLine: 1, endLine: 1, text: 'a\r', form: 'line ends are CRLF' }, '(line ends are CRLF)\n1|a']
  ] as const) {
    it(title, () => assert.equal(contextBlockOf({ type: 'file', path: 'a.ts', sha256: 'x', totalLines: 3, ...block }, undefined)?.body, shown))
  }
})

describe('what the memory does not take', () => {
  for (const [title, patch, told] of [
    ['a text of 1,001 characters', { 'project.ci_notes': 'x'.repeat(1001) }, 'Not remembered: project.ci_notes (expected a text of 1 to 1000 characters, got 1001 characters).'],
    ['a value of another kind', { 'user.ask_budget': 7 }, 'Not remembered: user.ask_budget (expected one of 0, 1, 2, got 7).'],
    ['a field that nobody knows', { 'user.evil': 'x' }, 'Not remembered: user.evil (there is no such field).']
  ] as const) {
    it(`is said, and not offered: ${title}`, () => {
      const plan = new PlanSession('plan: remember it', { files, setting }).answer({ summary: 'Noted.', memory_patch: { ...patch, 'user.preferred_style': 'brief' } })
      assert.ok(plan.notices('stdout').some(({ text }) => text === told), JSON.stringify(plan.notices('stdout')))
      assert.deepEqual(plan.result['memory_patch'], { 'user.preferred_style': 'brief' })
    })
  }

  it('is said of a file that cannot be used', () => {
    const plan = new PlanSession('plan: look', { files, setting, memory: { problems: ['project.json cannot be used'] } }).answer({ summary: 'Seen.' })
    assert.ok(plan.notices('stdout').some(({ text }) => text === 'project.json cannot be used'))
  })
})
