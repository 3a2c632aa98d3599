import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import { planEngine } from '../../../src/engine/plan/plan-engine.ts'
import { gate } from '../../../src/session/gate.ts'
import { openIn } from '../../../src/session/session.ts'
import { approved } from '../../session/approve.ts'
import { PlanSession, shownStep } from './plan-session.ts'

const PLAN = { actions: [], summary: 'Диагноз: деление на ноль.\nПроверка: npm test' }
const UPDATE = { kind: 'UPDATE_FILE', path: 'src/app.ts', content: 'fixed\n' }
const files = { 'src/app.ts': 'broken\n', 'package.json': '{}' }

/** A plan that has read src/app.ts and waits for its user. */
function planned (options: ConstructorParameters<typeof PlanSession>[1] = {}): PlanSession {
  return new PlanSession('plan: исправь тест', { files, ...options }).answer({ context_requests: [{ type: 'read_file', path: './src/app.ts' }] }).answer(PLAN)
}

/** A plan that was carried out. */
function applied (options: ConstructorParameters<typeof PlanSession>[1] = {}): PlanSession {
  return planned(options).say('ok').answer({ actions: [UPDATE], summary: 'Исправлено.' }).apply([{ kind: 'UPDATE_FILE', path: 'src/app.ts', before: 'a', after: 'b' }])
}

describe('a plan', () => {
  it('is made, shown, carried out, undone and done again', () => {
    const plan = planned()
    assert.deepEqual([plan.word, plan.dialogue.session.status, plan.view.mayWrite], ['planned', 'waiting_input', false])
    assert.equal(plan.result['summary'], PLAN.summary)
    assert.match(plan.result['plan_context'] as string, /FULFILLED_CONTEXT:\nFILE\[src\/app\.ts\]:\n1\|broken/)

    plan.say('Ок!')
    assert.deepEqual([plan.word, plan.view.mayWrite, plan.open('llm').purpose], ['applying', true, 'apply'])
    plan.answer({ actions: [UPDATE], summary: 'Исправлено.' }).read()
    const shown = [shownStep('UPDATE_FILE', 'src/app.ts')]
    assert.deepEqual(plan.notices('files').at(-1), { stage: 'preview', files: [{ ...shown[0], bytes: 1, diff: '--- src/app.ts' }] })
    const { workspace, change, deletes } = plan.open('apply')
    assert.deepEqual({ workspace, change, deletes }, { workspace: 'shop', change: { do: { actions: [UPDATE], bases: { 'src/app.ts': 'sha-src/app.ts' }, eol: 'keep', shown } }, deletes: false })
    plan.apply([{ kind: 'UPDATE_FILE', path: 'src/app.ts', before: 'a', after: 'b' }])
    assert.deepEqual([plan.word, plan.result['ok'], plan.result['actions']], ['applied', true, [UPDATE]])

    plan.act('undo')
    assert.deepEqual([plan.open('apply').change, plan.word], [{ undo: {} }, 'applying'])
    plan.apply()
    assert.equal(plan.word, 'undone')
    plan.say('redo').read()
    assert.deepEqual([plan.open('apply').change, plan.word], [{ redo: { shown } }, 'applying'])
    assert.equal(plan.apply().word, 'applied')
    assert.deepEqual(plan.events().filter(event => !String(event).startsWith('LLM_')), ['CONTEXT_CACHE_MISS', 'PREVIEW_READY', 'APPLY_SUCCESS', 'PREVIEW_READY'])
  })

  it('tells its states in the words of the protocol', () => {
    const words = applied().act('undo').apply().notices('state').flatMap(({ word, status }) => status === undefined ? [word] : [])
    assert.deepEqual(words, ['planned', 'applying', 'applied', 'applying', 'undone'])
  })

  it('is the same when it is read out of its log', () => {
    const { dialogue } = applied()
    assert.deepEqual(dialogue.fold().engine.state, dialogue.session.engine.state)
  })

  it('is repaired once, and fails the second time', () => {
    const plan = new PlanSession('plan: x').answer('no JSON')
    const { messages } = plan.open('llm')
    assert.equal(messages.at(-2)?.['content'], 'no JSON')
    assert.match(messages.at(-1)?.['content'] as string, /^Ответ не принят: ERR_JSON_EXTRACT: /)
    plan.answer('{"actions": [{')
    assert.deepEqual([plan.word, plan.result['error_code'], plan.dialogue.session.status], ['failed', 'ERR_JSON_PARSE', 'failed'])
    assert.deepEqual(plan.notices('error').map(({ code }) => code), ['ERR_JSON_PARSE'])
    assert.deepEqual(plan.events().filter(event => /VALIDATION|REPAIR/.test(String(event))), ['VALIDATION_FAILED', 'LLM_RESPONSE_REPAIR_RETRY', 'VALIDATION_FAILED'])
  })

  it('has a repair again once its user has spoken', () => {
    const plan = new PlanSession('plan: x').answer('?').answer(PLAN).say('ok').answer('?')
    assert.equal(plan.word, 'applying')
    assert.equal(plan.answer({ actions: [], summary: 'NO_CHANGES: готово' }).word, 'no_changes')
  })

  it('that is rejected is over', () => {
    const plan = planned().act('reject')
    assert.deepEqual([plan.word, plan.dialogue.session.status], ['rejected', 'completed'])
  })

  it('is made anew for other words, with what was read before and what was said', () => {
    const plan = planned().say('да, но без новых файлов')
    assert.equal(plan.word, 'planning')
    assert.deepEqual(plan.open('read').requests, [{ type: 'memory' }, { type: 'read_file', path: 'src/app.ts' }])
    plan.read()
    assert.deepEqual(plan.open('llm').messages.slice(1).map(({ role }) => role), ['user', 'assistant', 'user'])
    assert.match(plan.open('llm').messages.at(-1)?.['content'] as string, /^да, но без новых файлов\n\nFULFILLED_CONTEXT:\nFILE/)
    assert.equal(plan.answer(PLAN).word, 'planned')
  })

  it('takes "apply: …" as words for what is carried out', () => {
    const plan = planned().say('apply: только первый шаг')
    assert.equal(plan.word, 'applying')
    assert.match(plan.open('llm').messages.at(-1)?.['content'] as string, /^только первый шаг/)
  })

  it('fails with what the workspace says', () => {
    const plan = new PlanSession('plan: x')
    plan.dialogue.fail('there is no workspace', 'PATH_NOT_FOUND')
    assert.equal(plan.result['error_code'], 'PATH_NOT_FOUND')
  })
})

describe('context', () => {
  it('is asked for in two rounds, then the model is told to answer', () => {
    const ask = (path: string) => ({ actions: [], context_requests: [{ type: 'read_file', path }] })
    const plan = new PlanSession('plan: x', { files }).answer(ask('src/app.ts')).answer(ask('package.json')).read()
    assert.match(plan.open('llm').messages.at(-1)?.['content'] as string, /больше не выполняются/)
    plan.answer({ ...ask('README.md'), summary: 'Диагноз' })
    assert.equal(plan.word, 'planned')
  })

  it('is read once in a cycle, and its cache is counted', () => {
    const requests: JsonObject[] = [{ type: 'env' }, { type: 'search', query: 'x', glob: '*.ts' }, { type: 'logs', source: 'app', last_n: 5 }, { type: 'read_file', path: 'src/app.ts' }]
    const plan = new PlanSession('plan: x', { files }).answer({ context_requests: requests }).answer({ context_requests: requests })
    assert.equal(plan.dialogue.effect().kind, 'llm')
    plan.answer(PLAN)
    assert.deepEqual(plan.result['cache_stats'], { env_hits: 1, env_misses: 1, logs_hits: 1, logs_misses: 1, read_hits: 1, read_misses: 1, search_hits: 1, search_misses: 1, hit_rate: 0.5 })
    assert.equal(plan.events().filter(event => event === 'CONTEXT_CACHE_HIT').length, 4)
    assert.match(plan.result['plan_context'] as string, /^FULFILLED_CONTEXT:\nENV:\nnode 20\nSEARCH\[x\]:\na\.ts:3\|hit\nLOGS\[app\]:\nline\nFILE\[src\/app\.ts\]:\n1\|broken$/)
  })

  it('tells logs of another length apart', () => {
    const logs = (lines: number) => ({ context_requests: [{ type: 'logs', source: 'app', last_n: lines }] })
    const plan = new PlanSession('plan: x').answer(logs(5)).answer(logs(6))
    assert.deepEqual(plan.open('read').requests, [{ type: 'logs', source: 'app', last_n: 6 }])
  })

  it('never reads what is protected or outside, and says so', () => {
    const plan = new PlanSession('plan: x').answer({ context_requests: ['.env', '../x', '/etc/passwd', 'a/id_rsa'].map(path => ({ type: 'read_file', path })) })
    const { content } = plan.open('llm').messages.at(-1) as { content: string }
    assert.match(content, /MISSING\[\.env\]: PROTECTED_PATH.*\nMISSING\[\.\.\/x\]: ERR_INVALID_PATH.*\nMISSING\[\/etc\/passwd\]: ERR_INVALID_PATH.*\nMISSING\[a\/id_rsa\]: PROTECTED_PATH/)
  })

  it('of a traceback is read before the model is asked', () => {
    const plan = new PlanSession('plan: почини', { files: { ...files, 'src/app.py': 'x = 1\n' }, input: { report: 'Traceback (most recent call last):\n  File "/home/me/shop/src/app.py", line 100, in f\nModuleNotFoundError: No module named "x"' } })
    assert.deepEqual(plan.open('read').requests.map(({ type, path }) => path ?? type), ['memory', 'home/me/shop/src/app.py', 'me/shop/src/app.py', 'shop/src/app.py', 'src/app.py', 'app.py', 'env', 'pyproject.toml', 'requirements.txt', 'package.json', 'poetry.lock'])
    plan.read()
    const { content } = plan.open('llm').messages.at(-1) as { content: string }
    assert.match(content, /AUTO_CONTEXT:\nENV:\nnode 20\nDEPS\[package\.json\]:\n\{\}\n\nAUTO_CONTEXT_FROM_MESSAGE:\nAUTO_TRACEBACK\[src\/app\.py\]:\n20\|x = 1/)
    assert.doesNotMatch(content, /MISSING/)
  })

  it('that could not be read is missing, and the plan goes on', () => {
    const plan = new PlanSession('plan: x', { files }).answer({ context_requests: [{ type: 'env' }] })
    plan.dialogue.fail('too slow', 'TIMEOUT')
    assert.match(plan.open('llm').messages.at(-1)?.['content'] as string, /MISSING\[env\]: too slow/)
  })

  it('is cut to its diet, and the log says so', () => {
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`f${index}.ts`, 'x'.repeat(30_000)]))
    const plan = new PlanSession('plan: x', { files: many }).answer({ context_requests: Object.keys(many).map(path => ({ type: 'read_file', path })) }).read()
    const [line] = plan.notices('log').filter(({ event }) => event === 'CONTEXT_DIET_APPLIED')
    assert.match(line?.['text'] as string, /^CONTEXT_DIET_APPLIED files=8 dropped=1 truncated=8 total_chars=\d+$/)
    assert.deepEqual((plan.result['context_stats'] as Record<string, unknown>)['context_files_dropped_count'], 1)
  })
})

describe('the model', () => {
  it('is asked as the protocol says', () => {
    const { fields, timeout } = new PlanSession('plan: x').read().open('llm')
    assert.deepEqual(fields, { temperature: 0, top_p: 1, presence_penalty: 0, frequency_penalty: 0, max_tokens: 16_384 })
    assert.equal(timeout, 90_000)
  })

  it('is given fewer tokens for an input above 80,000 characters', () => {
    const session = (length: number) => new PlanSession(`plan: ${'x'.repeat(length)}`).read()
    const empty = session(0).notices('log')[0]?.['input_chars'] as number
    assert.equal(session(80_000 - empty).open('llm').fields['max_tokens'], 16_384)
    assert.equal(session(80_001 - empty).open('llm').fields['max_tokens'], 4096)
  })

  it('is held to the schema, and asked without it where its API knows none', () => {
    const plan = new PlanSession('plan: x', { setting: { isStrict: true } }).read()
    assert.deepEqual(plan.open('llm').fields['response_format'], { type: 'json_schema', json_schema: { name: 'plan_response', strict: true, schema: { type: 'object' } } })
    plan.dialogue.fail('400: Unknown field "response_format"')
    assert.ok(!Object.hasOwn(plan.open('llm').fields, 'response_format'))
    assert.ok(plan.events().includes('LLM_RESPONSE_FORMAT_FALLBACK'))
    plan.dialogue.fail('that is not supported')
    assert.equal(plan.result['error_code'], 'LLM_ERROR')
  })

  it('is held to the schema here too, once its API was asked to, and repairs its answer once', () => {
    const schema = { type: 'object', additionalProperties: false, required: ['actions', 'summary', 'context_requests', 'memory_patch'], properties: { actions: {}, summary: {}, context_requests: {}, memory_patch: {} } }
    const strict = { isStrict: true, schema, schemaHash: 'strict-1' }
    const plan = new PlanSession('plan: x', { setting: strict }).answer(PLAN)
    assert.match(plan.open('llm').messages.at(-1)?.['content'] as string, /^Ответ не принят: ERR_SCHEMA_VALIDATION: .*context_requests/)
    assert.equal(plan.answer({ ...PLAN, context_requests: null, memory_patch: null }).word, 'planned')
    const other = new PlanSession('plan: x', { setting: strict }).read()
    other.dialogue.fail('unknown field')
    assert.equal(other.answer(PLAN).word, 'planned')
  })

  it('that is silent fails the plan', () => {
    const plan = new PlanSession('plan: x').read()
    plan.dialogue.fail('no answer within 90000 ms', 'TIMEOUT')
    assert.deepEqual([plan.result['error_code'], plan.events().at(-1)], ['LLM_ERROR', 'LLM_REQUEST_TIMEOUT'])
  })

  it('is told what is remembered, behind everything else', () => {
    const plan = new PlanSession('plan: x', { setting: { prompt: 'Change little.' }, memory: { user: { ask_budget: 1, preferred_style: 'loud' }, project: { default_test_command: 'npm test', evil: 'x' } } }).read()
    const { content } = plan.open('llm').messages[0] as { content: string }
    assert.ok(content.endsWith('LLM_PLAN_SCHEMA_VERSION=1\n\nChange little.\n\nENGINEERING_MEMORY (trusted by user; update only when user requests):\n{"user":{"ask_budget":1},"project":{"default_test_command":"npm test"}}\n\nUse ENGINEERING_MEMORY as defaults. If user explicitly asks to change — suggest updating memory and show new JSON.'))
  })
})

describe('APPLY', () => {
  it('begins at once for words that ask for something new', () => {
    const plan = new PlanSession('создай README').answer([{ kind: 'CREATE_FILE', path: 'README.md', content: '# x\n' }]).apply()
    assert.deepEqual([plan.word, plan.result['summary']], ['applied', 'Изменения: CREATE_FILE README.md.'])
  })

  it('reads what it updates when nothing was planned, and asks again', () => {
    const plan = new PlanSession('apply: x', { files }).answer({ actions: [UPDATE] })
    assert.deepEqual(plan.open('read').requests, [{ type: 'read_file', path: 'src/app.ts' }])
    plan.answer({ actions: [UPDATE] })
    assert.equal(plan.apply().word, 'applied')
  })

  it('fails for an update of a file that is not there', () => {
    const plan = new PlanSession('apply: x').answer({ actions: [UPDATE] }).answer({ actions: [UPDATE] }).answer({ actions: [UPDATE] }).answer({ actions: [UPDATE] })
    assert.equal(plan.result['error_code'], 'ERR_UPDATE_WITHOUT_BASE')
  })

  it('that deletes waits for a person, and goes on when it is allowed', () => {
    const actions = [{ kind: 'DELETE_FILE', path: 'src/app.ts' }]
    const plan = planned().say('да').answer({ actions }).read()
    assert.deepEqual([plan.word, plan.dialogue.session.status, plan.open('apply').deletes], ['awaiting_confirmation', 'waiting_approval', true])
    assert.equal(plan.apply([{ kind: 'DELETE_FILE', path: 'src/app.ts' }]).word, 'applied')
    plan.act('undo').apply()
    plan.act('redo').read()
    assert.equal(plan.dialogue.session.status, 'waiting_approval')
    plan.dialogue.take({ kind: 'decided', effect: plan.open('apply').id, by: 'me', decision: 'reject' })
    assert.deepEqual([plan.word, plan.dialogue.session.status], ['undone', 'waiting_input'])
  })

  it('is applying while files are written, not waiting for a person any more', () => {
    const plan = planned().say('да').answer({ actions: [{ kind: 'DELETE_FILE', path: 'src/app.ts' }] }).read()
    plan.dialogue.take(approved(plan.dialogue.session, plan.open('apply').id))
    assert.deepEqual([plan.word, plan.dialogue.session.status, plan.dialogue.fold().engine.state], ['applying', 'running', plan.state])
  })

  it('is shown anew, and asked for again, where something has changed since it was shown', () => {
    const plan = planned().say('да').answer({ actions: [{ kind: 'DELETE_FILE', path: 'src/app.ts' }] }).read()
    plan.dialogue.take(approved(plan.dialogue.session, plan.open('apply').id))
    plan.dialogue.fail('changed since it was shown: "src/app.ts"', 'ERR_BASE_CHANGED')
    assert.deepEqual(plan.notices('error').map(({ code }) => code), ['ERR_BASE_CHANGED'])
    plan.read()
    assert.deepEqual([plan.word, plan.dialogue.session.status, plan.result['error_code']], ['awaiting_confirmation', 'waiting_approval', 'ERR_BASE_CHANGED'])
    assert.equal(plan.notices('files').filter(({ stage }) => stage === 'preview').length, 2)
    plan.apply([{ kind: 'DELETE_FILE', path: 'src/app.ts' }])
    assert.deepEqual([plan.word, plan.result['ok']], ['applied', true])
  })

  it('whose deletions are refused is rejected', () => {
    const plan = planned().say('да').answer({ actions: [{ kind: 'DELETE_DIR', path: 'src' }] }).read()
    plan.dialogue.take({ kind: 'decided', effect: plan.open('apply').id, by: 'me', decision: 'reject', reason: 'no' })
    assert.deepEqual([plan.word, plan.dialogue.session.status], ['rejected', 'completed'])
  })

  for (const code of ['ERR_BASE_CHANGED', 'ERR_UPDATE_WITHOUT_BASE', 'ERR_FILE_EXISTS', 'PATH_NOT_FOUND', 'SNAPSHOT_FAILED', 'APPLY_FAILED_ROLLED_BACK', 'CONFIRM_REQUIRED']) {
    it(`fails with ${code} where the change does`, () => {
      const plan = planned().say('ok').answer({ actions: [UPDATE] }).read()
      plan.dialogue.fail('because', code)
      assert.deepEqual([plan.word, plan.result['error_code'], plan.result['ok']], ['failed', code, false])
      assert.equal(plan.events().includes('APPLY_ROLLBACK'), code === 'APPLY_FAILED_ROLLED_BACK')
    })
  }

  it('writes nothing that could not be shown', () => {
    const plan = planned().say('ok').answer({ actions: [UPDATE] })
    plan.dialogue.end({ blocks: [{ type: 'missing', request: { type: 'preview' }, reason: 'PATH_NOT_FOUND: there is no file "src/app.ts"', code: 'PATH_NOT_FOUND' }] })
    assert.deepEqual([plan.result['error_code'], plan.result['error']], ['PATH_NOT_FOUND', 'there is no file "src/app.ts"'])
  })

  it('runs the checks in turn', () => {
    const plan = applied({ setting: { checks: ['lint', 'test'] } })
    assert.equal(plan.open('check').check, 'lint')
    plan.dialogue.end({ outcome: 'exited', exitCode: 0, stdout: '', stderr: '' })
    assert.equal(plan.open('check').check, 'test')
    plan.dialogue.end({ outcome: 'exited', exitCode: 0, stdout: '', stderr: '' })
    assert.equal(plan.word, 'applied')
  })

  for (const [title, result] of [['fails', { outcome: 'exited', exitCode: 1, stdout: 'not ok', stderr: '' }], ['takes too long', { outcome: 'timeout', exitCode: null, stdout: '', stderr: '' }]] as const) {
    it(`takes its change back when a check ${title}`, () => {
      const plan = applied({ setting: { checks: ['test'] } })
      plan.dialogue.end(result)
      assert.deepEqual([plan.open('apply').change, plan.dialogue.session.status], [{ undo: {} }, 'running'])
      plan.apply()
      assert.deepEqual([plan.word, plan.result['error_code'], plan.result['applied']], ['failed', 'AUTO_CHECK_FAILED_ROLLED_BACK', []])
    })
  }

  it('says so when a failed change cannot be taken back', () => {
    const plan = applied({ setting: { checks: ['test'] } })
    plan.dialogue.fail('no such check', 'NOT_OFFERED')
    plan.dialogue.fail('src/app.ts was changed by somebody else', 'ERR_BASE_CHANGED')
    assert.equal(plan.result['error_code'], 'AUTO_CHECK_FAILED_NOT_ROLLED_BACK')
  })

  it('takes back single paths, and the rest later', () => {
    const actions = ['a.ts', 'b.ts'].map(path => ({ kind: 'CREATE_FILE', path, content: '' }))
    const plan = new PlanSession('apply: x').answer({ actions }).apply()
    plan.act('undo', { paths: ['a.ts'] })
    assert.deepEqual(plan.open('apply').change, { undo: { paths: ['a.ts'] } })
    plan.apply([{ kind: 'DELETE_FILE', path: 'a.ts' }])
    assert.deepEqual([plan.word, plan.result['applied'], plan.result['undone']], ['applied', [{ kind: 'CREATE_FILE', path: 'b.ts' }], [{ kind: 'CREATE_FILE', path: 'a.ts' }]])
    assert.equal(plan.act('undo').apply().word, 'undone')
  })

  it('says what an undo and a redo have left alone, also when that is everything', () => {
    const conflicts = [{ path: 'src/app.ts', reason: 'changed' }]
    const plan = applied().act('undo')
    plan.dialogue.end({ applied: [], conflicts })
    assert.deepEqual([plan.word, plan.result['conflicts'], plan.result['ok'], plan.result['error_code'], plan.notices('files').at(-1)], ['applied', conflicts, false, 'ERR_BASE_CHANGED', { stage: 'undone', files: [], conflicts }])
    assert.match(String(plan.result['error']), /^not taken back: src\/app\.ts \(changed\)/)
    plan.act('undo').apply()
    assert.deepEqual([plan.word, plan.result['conflicts'], plan.result['ok']], ['undone', undefined, true])
    plan.act('redo')
    plan.dialogue.end({ blocks: [{ type: 'preview', files: [], more: 0, shown: [], conflicts }] })
    assert.deepEqual([plan.word, plan.result['conflicts'], plan.notices('files').at(-1)], ['undone', conflicts, { stage: 'redone', files: [], conflicts }])
  })

  it('is not said to be taken back where somebody else has changed a file while it was checked', () => {
    const plan = applied({ setting: { checks: ['test'] } })
    plan.dialogue.end({ outcome: 'exited', exitCode: 1, stdout: '', stderr: '' })
    plan.dialogue.end({ applied: [], conflicts: [{ path: 'src/app.ts', reason: 'changed' }] })
    assert.deepEqual([plan.result['error_code'], (plan.result['applied'] as unknown[]).length], ['AUTO_CHECK_FAILED_NOT_ROLLED_BACK', 1])
    assert.match(String(plan.result['error']), /src\/app\.ts \(changed\)/)
  })

  it('stays applied when it cannot be undone, and says why', () => {
    const plan = applied().act('undo')
    plan.dialogue.fail('src/app.ts was changed', 'ERR_BASE_CHANGED')
    assert.deepEqual([plan.word, plan.dialogue.session.status, plan.notices('error')], ['applied', 'waiting_input', [{ code: 'ERR_BASE_CHANGED', message: 'src/app.ts was changed' }]])
    assert.deepEqual([plan.result['ok'], plan.result['error_code']], [false, 'ERR_BASE_CHANGED'])
  })
})

describe('memory', () => {
  const patch = { 'project.default_test_command': 'pytest -q', 'user.ask_budget': '1', 'user.evil': 'x' }

  it('is only shown where nothing may be remembered', () => {
    const plan = new PlanSession('plan: запомни').answer({ actions: [], memory_patch: patch })
    assert.deepEqual([plan.word, plan.notices('memory')], ['planned', [{ patch: { 'project.default_test_command': 'pytest -q' }, isApplied: false, isOffered: true }]])
    assert.deepEqual(plan.notices('log').at(-1)?.['keys'], 'user.ask_budget,user.evil')
  })

  it('is remembered where it may be, before the plan goes on', () => {
    const plan = new PlanSession('plan: запомни', { setting: { remembers: true } }).answer({ ...PLAN, memory_patch: patch })
    const effect = plan.open('remember')
    assert.deepEqual('patch' in effect ? effect.patch : {}, { 'project.default_test_command': 'pytest -q' })
    plan.dialogue.end({})
    assert.deepEqual([plan.word, plan.notices('memory').map(({ isApplied }) => isApplied)], ['planned', [false, true]])
  })

  const offered = { 'project.default_test_command': 'pytest -q' }

  for (const [title, remember] of [['the word', (plan: PlanSession) => plan.say(' Запомни! ')], ['the action', (plan: PlanSession) => plan.act('remember')]] as const) {
    it(`is remembered when its user agrees to what was shown, by ${title}`, () => {
      const plan = new PlanSession('plan: запомни').answer({ ...PLAN, memory_patch: patch })
      assert.deepEqual(plan.result['memory_patch'], offered)
      remember(plan)
      const effect = plan.open('remember')
      assert.deepEqual('patch' in effect ? effect.patch : {}, offered)
      plan.dialogue.end({})
      assert.deepEqual([plan.word, plan.dialogue.session.status, plan.result['memory_patch'], plan.notices('memory').map(({ isApplied }) => isApplied)], ['planned', 'waiting_input', undefined, [false, true]])
      assert.equal(planEngine.refuses?.(plan.state, '', { name: 'remember', data: {} })?.kind, 'busy')
    })
  }

  it('is all that an APPLY may want: it waits for its user, and is over when that is remembered', () => {
    const plan = new PlanSession('apply: запомни').answer({ actions: [], summary: '', memory_patch: patch })
    assert.deepEqual([plan.word, plan.view.mayWrite, plan.result['summary']], ['planned', false, 'Память: project.default_test_command, user.ask_budget, user.evil.'])
    plan.act('remember').dialogue.end({})
    assert.deepEqual([plan.word, plan.dialogue.session.status], ['no_changes', 'completed'])
    const remembering = new PlanSession('apply: запомни', { setting: { remembers: true } }).answer({ actions: [], memory_patch: patch })
    remembering.open('remember')
    remembering.dialogue.end({})
    assert.equal(remembering.word, 'no_changes')
    assert.equal(new PlanSession('apply: x').answer({ memory_patch: { 'user.evil': 1 } }).answer({ memory_patch: { 'user.evil': 1 } }).result['error_code'], 'ERR_APPLY_EMPTY_ACTIONS')
  })

  it('that could not be written is offered still, and its user is told', () => {
    const plan = new PlanSession('plan: запомни').answer({ ...PLAN, memory_patch: patch }).act('remember')
    plan.dialogue.fail('project.json cannot be used', 'MEMORY_UNUSABLE')
    assert.deepEqual([plan.word, plan.result['memory_patch'], plan.result['error_code']], ['planned', offered, 'MEMORY_UNUSABLE'])
    plan.say('ok')
    assert.deepEqual([plan.word, plan.result['ok']], ['applying', true])
  })

  it('of the session is in its view, and is told to no model', () => {
    const plan = planned({ setting: { checks: ['test'] }, memory: { branch: 'fix/price' } }).say('ok').answer('?').answer({ actions: [UPDATE], summary: 'x' }).apply([UPDATE])
    plan.dialogue.end({ outcome: 'exited', exitCode: 1, stdout: 'not ok', stderr: '' })
    plan.apply()
    const { recent_errors: errors, ...rest } = plan.result['session_memory'] as Record<string, unknown>
    assert.deepEqual(rest, { current_task_goal: 'исправь тест', current_branch: 'fix/price', recent_files: ['src/app.ts'] })
    assert.deepEqual((errors as string[]).map(error => error.split(':', 1)[0]), ['ERR_JSON_EXTRACT', 'AUTO_CHECK_FAILED_ROLLED_BACK'])
    const asked = planned({ memory: { branch: 'fix/price' } }).say('again')
    asked.read()
    assert.doesNotMatch(JSON.stringify(asked.open('llm').messages), /fix\/price|current_task_goal|recent_/)
  })

  it('chooses the mode where words and request leave it open', () => {
    const memory = { user: { output_format: 'patch_first' } }
    assert.equal(new PlanSession('README', { memory }).read().word, 'applying')
    assert.equal(new PlanSession('README', { memory, input: { mode: 'plan' } }).read().word, 'planning')
    assert.equal(new PlanSession('исправь README', { memory }).read().word, 'planning')
  })
})

describe('inputs', () => {
  const refuses = ({ state }: PlanSession, text: string, name?: string, data = {}) => planEngine.refuses?.(state, text, name === undefined ? undefined : { name, data })?.kind

  it('fit what the plan waits for', () => {
    const [plan, change] = [planned(), applied()]
    assert.deepEqual([refuses(plan, 'x'), refuses(plan, ''), refuses(plan, '', 'apply'), refuses(plan, '', 'reject'), refuses(plan, '', 'undo'), refuses(plan, '', 'redo'), refuses(plan, '', 'dance')], [undefined, 'invalid', undefined, undefined, 'busy', 'busy', 'invalid'])
    assert.deepEqual([refuses(change, 'x'), refuses(change, 'undo'), refuses(change, '', 'apply'), refuses(change, '', 'undo'), refuses(change, '', 'redo')], ['busy', undefined, 'busy', undefined, 'busy'])
    assert.deepEqual([['src/app.ts'], ['x'], [], 'x', [null], ['src/app.ts', '../x']].map(paths => refuses(change, '', 'undo', { paths })), [undefined, 'invalid', 'invalid', 'invalid', 'invalid', 'invalid'])
  })
})

describe('PLAN', () => {
  it('that tries to write is held back by the gate, whatever the model says', () => {
    const { dialogue: { session } } = new PlanSession('plan: x').read()
    for (const effect of [{ id: '9.0', kind: 'apply', workspace: 'shop', change: {}, deletes: false, timeout: 1 }, { id: '9.0', kind: 'check', workspace: 'shop', check: 'test', timeout: 1 }] as const) {
      assert.equal(gate(session, { effect, phase: 'owed' }).answer, 'deny')
    }
  })

  it('refuses actions, and asks for nothing to be written', () => {
    const plan = new PlanSession('plan: x').answer({ actions: [UPDATE], summary: 'x' }).answer({ actions: [UPDATE], summary: 'x' })
    assert.equal(plan.result['error_code'], 'ERR_PLAN_NONEMPTY_ACTIONS')
    assert.deepEqual(openIn(plan.dialogue.session, 'owed'), [])
  })
})
