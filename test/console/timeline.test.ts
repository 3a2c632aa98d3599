import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { before, describe, it } from 'node:test'
import { build } from 'esbuild'
import { axisOf, type Call, cameOf, type Facts, isInDoubt, type Line, linesOf, retryOf, type Step, sumOfCosts } from '../../console/sessions/audit.ts'
import { texts as english } from '../../console/text/en/sessions.ts'
import { texts as russian } from '../../console/text/ru/sessions.ts'

let words: { loadTexts (part: string): Promise<void>, lineWords (line: Line): string, endWords (call: Call): string }
before(async () => {
  // The texts ask the page that they stand in for its language.
  Object.assign(globalThis, { location: { search: '?lang=en' }, localStorage: { getItem: () => null } })
  // As browsers get them: these modules know a page, which the types of tests do not.
  const contents = "export { loadTexts } from './text/text.ts'\nexport { lineWords, endWords } from './sessions/sentences.ts'"
  const { outputFiles: [bundled] } = await build({ stdin: { contents, resolveDir: 'console' }, bundle: true, write: false, format: 'esm' })
  words = await import(`data:text/javascript,${encodeURIComponent(bundled?.text ?? '')}`) as typeof words
  for (const part of ['frame', 'work', 'sessions']) await words.loadTexts(part)
})

const START = Date.parse('2026-11-28T10:00:00.000Z')

interface Wish { readonly begun?: readonly Facts[], readonly held?: readonly Facts[], readonly denied?: readonly Facts[], readonly notices?: Step['notices'] }

/** Steps a second apart. */
function audit (...entries: ReadonlyArray<readonly [fact: Facts, wish?: Wish]>): readonly Step[] {
  return entries.map(([fact, { begun = [], held = [], denied = [], notices = [] } = {}], index) => ({
    seq: index + 1, at: new Date(START + index * 1000).toISOString(), fact, begun, held, denied, notices
  }))
}

const effect = (id: string, kind: string, subject: Facts = {}): Facts => ({ id, kind, digest: '', subject })
const started: Facts = { kind: 'started', start: { definition: 'agents/desk', owner: 'ann', input: {} } }
const said = (text: string): Facts => ({ kind: 'input', id: 'i', by: 'ann', text })
const acted = (name: string): Facts => ({ kind: 'input', id: 'i', by: 'ann', text: '', action: { name, data: {} } })
const called = (id: string, args: Facts): NonNullable<Step['notices']>[number] => ({ type: 'tool', data: { effect: id, phase: 'called', arguments: args } })
const answer = (content: string | null, ...calls: readonly string[]): Facts => ({ choices: [{ message: { content, tool_calls: calls.map(name => ({ function: { name } })) } }] })
const held = (kind: string, more: Facts): Facts => ({ effect: { id: '2.0', kind, ...more }, rule: 'commands are approved one by one' })
const done = (status: string): NonNullable<Step['notices']>[number] => ({ type: 'done', data: { status } })

/** Each row: what happened, and what its line says in plain words. */
const ROWS: ReadonlyArray<readonly [title: string, steps: readonly Step[], expected: readonly string[]]> = [
  ['a beginning', audit([started]), ['ann started agents/desk.']],
  ['a beginning by nobody that has a name', audit([{ kind: 'started', start: { definition: 'skills/walk', owner: '' } }]), ['somebody started skills/walk.']],
  ['words', audit([said('Why?')]), ['ann said: “Why?”']],
  ['a skipped command', audit([acted('skip')]), ['ann skipped it.']],
  ['a change that was agreed to', audit([acted('apply')]), ['ann agreed to the change.']],
  ['an undo', audit([acted('undo')]), ['ann took the change back.']],
  ['an action without a word of its own', audit([acted('dance')]), ['ann chose “dance”.']],
  ['another process', audit([{ kind: 'took', repeats: [] }]), ['Another process of the service went on from here.']],
  ['a stop', audit([{ kind: 'stopped', by: 'expiry', reason: 'nobody has answered' }]), ['It was stopped: nobody has answered.']],
  ['a fact of a later version', audit([{ kind: 'danced' }]), ['Something else happened: danced.']],
  ['an end', audit([said('exit'), { notices: [done('completed')] }]), ['ann said: “exit”', 'The session ended: done.']],
  ['a failed end', audit([said('x'), { notices: [done('failed')] }]), ['ann said: “x”', 'The session ended: it failed.']],
  ['a question to the model', audit([said('x'), { begun: [effect('1.0', 'llm', { purpose: 'turn' })] }]), ['ann said: “x”', 'The model was asked for an answer. It is running.']],
  ['an answer of the model', audit([{ kind: 'took' }, { begun: [effect('1.0', 'llm', { purpose: 'select' })] }], [{ kind: 'result', effect: '1.0', result: answer('Ann.'), usage: { input: 3, output: 4 } }]),
    ['Another process of the service went on from here.', 'The model was asked which tool fits.']],
  ['a question for a plan', audit([started, { begun: [effect('1.0', 'llm', { purpose: 'plan' })] }]), ['ann started agents/desk.', 'The model was asked for a plan. It is running.']],
  ['a purpose without a word of its own', audit([{ kind: 'took' }, { begun: [effect('1.0', 'llm', { purpose: 'dream' })] }]), ['Another process of the service went on from here.', 'The model was asked (dream). It is running.']],
  ['a call with what it was given', audit([said('x'), { begun: [effect('1.0', 'tool', { tool: 'find.owner' })], notices: [called('1.0', { city: 'Rome' })] }], [{ kind: 'result', effect: '1.0', result: 'Ann' }]),
    ['ann said: “x”', 'find.owner was called with {"city":"Rome"}.']],
  ['a call without arguments that failed', audit([said('x'), { begun: [effect('1.0', 'tool', { tool: 'find.owner' })], notices: [called('1.0', {})] }], [{ kind: 'failure', effect: '1.0', code: 'TIMEOUT', message: 'no answer' }]),
    ['ann said: “x”', 'find.owner was called. It failed: TIMEOUT: no answer']],
  ['a command that ran unasked', audit([said('x'), { begun: [effect('1.0', 'exec', { target: 'web', command: 'df -h' })] }], [{ kind: 'result', effect: '1.0', result: { exitCode: 0, stdout: 'full' } }]),
    ['ann said: “x”', '“df -h” was run on web.']],
  ['a command that ended with 2', audit([said('x'), { begun: [effect('1.0', 'exec', { target: 'web', command: 'df -h' })] }], [{ kind: 'result', effect: '1.0', result: { exitCode: 2, stdout: '' } }]),
    ['ann said: “x”', '“df -h” was run on web. It ended with exit code 2.']],
  ['a command that waits for a person', audit([started], [said('x'), { held: [held('exec', { target: 'web', command: 'rm a' })] }]),
    ['ann started agents/desk.', 'ann said: “x”', '“rm a” was to be run on web. It waits for a person: commands are approved one by one.']],
  ['a command that a person allowed', audit([started], [said('x'), { held: [held('exec', { target: 'web', command: 'rm a' })] }], [{ kind: 'decided', effect: '2.0', by: 'bob', decision: 'approve' }, { begun: [effect('2.0', 'exec', { target: 'web', command: 'rm a' })] }], [{ kind: 'result', effect: '2.0', result: { exitCode: 0 } }]),
    ['ann started agents/desk.', 'ann said: “x”', '“rm a” was run on web. A person was asked: commands are approved one by one. bob allowed it after 1 s.']],
  ['a command that a person rejected', audit([started], [said('x'), { held: [held('exec', { target: 'web', command: 'rm a' })] }], [{ kind: 'decided', effect: '2.0', by: 'bob', decision: 'reject', reason: 'too much' }]),
    ['ann started agents/desk.', 'ann said: “x”', '“rm a” was to be run on web. A person was asked: commands are approved one by one. bob refused it after 1 s. It was not done: too much']],
  ['what the rules deny', audit([said('x'), { denied: [{ id: '1.0', by: 'policy', reason: 'nothing is written while a plan is made' }] }]), ['ann said: “x”', 'Something was wanted. The rules did not allow it: nothing is written while a plan is made']],
  ['an interrupted command', audit([said('x'), { begun: [effect('1.0', 'exec', { target: 'web', command: 'make' })] }], [{ kind: 'unknown', effect: '1.0' }]),
    ['ann said: “x”', '“make” was run on web. It was interrupted: nobody knows whether it was done.']],
  ['a command that was given up with its session', audit([said('x'), { begun: [effect('1.0', 'exec', { target: 'web', command: 'make' })] }], [{ kind: 'stopped', by: 'cancel', reason: 'cancelled by ann' }]),
    ['ann said: “x”', '“make” was run on web. It was given up with the session: nobody knows how far it came.', 'It was stopped: cancelled by ann.']],
  ['a check that does not pass', audit([said('x'), { begun: [effect('1.0', 'check', { workspace: 'shop', check: 'test' })] }], [{ kind: 'result', effect: '1.0', result: { passed: false, output: 'red' } }]),
    ['ann said: “x”', 'The check test was made in shop. It failed.']],
  ['a reading', audit([said('x'), { begun: [effect('1.0', 'read', { target: 'web', requests: 2 })] }], [{ kind: 'result', effect: '1.0', result: { files: [] } }]), ['ann said: “x”', 'Files were read in web.']],
  ['a change of files', audit([said('x'), { begun: [effect('1.0', 'apply', { workspace: 'shop', deletes: false })] }], [{ kind: 'result', effect: '1.0', result: {} }]), ['ann said: “x”', 'Files were changed in shop.']],
  ['a commit', audit([said('x'), { begun: [effect('1.0', 'commit', { workspace: 'shop', paths: 2 })] }], [{ kind: 'result', effect: '1.0', result: {} }]), ['ann said: “x”', 'The change was committed in shop.']],
  ['a note about the person', audit([said('x'), { begun: [effect('1.0', 'remember', { workspace: '' })] }], [{ kind: 'result', effect: '1.0', result: {} }]), ['ann said: “x”', 'Something was remembered of the person.']],
  ['a child session', audit([said('x'), { begun: [{ ...effect('1.0', 'child', { definition: 'skills/walk' }), session: 'abc' }] }], [{ kind: 'result', effect: '1.0', result: 'Walked.', spent: { steps: 4, tokens: 851 } }]),
    ['ann said: “x”', 'skills/walk was started, as a session of its own.']],
  ['a terminal', audit([started, { begun: [effect('1.0', 'shell', { target: 'web' })] }]), ['ann started agents/desk.', 'A terminal was opened on web. It is running.']],
  ['a call of a later version', audit([said('x'), { begun: [effect('1.0', 'dance')] }], [{ kind: 'result', effect: '1.0', result: null }]), ['ann said: “x”', 'Something was done: dance.']]
]

describe('The timeline of a session says of', () => {
  for (const [title, steps, expected] of ROWS) {
    it(`${title}: ${expected.at(-1) ?? ''}`, () => {
      assert.deepEqual(linesOf(steps).map(line => [words.lineWords(line), line.call === undefined ? '' : words.endWords(line.call)].filter(text => text !== '').join(' ')), expected)
    })
  }
})

describe('A call in a timeline', () => {
  const callOf = (steps: readonly Step[]): Call | undefined => linesOf(steps).find(({ call }) => call !== undefined)?.call

  it('has how long it took, and its tokens', () => {
    const { began, ended, tokens, usage } = callOf(audit([said('x'), { begun: [effect('1.0', 'llm', { purpose: 'turn' })] }], [{ kind: 'result', effect: '1.0', result: answer('Ann.'), usage: { input: 3, output: 4 } }])) ?? {}
    assert.deepEqual([began, ended, tokens, usage], [START, START + 1000, 7, { input: 3, output: 4 }])
  })

  it('has the tokens and the id of a child session', () => {
    const { tokens, session } = callOf(audit([said('x'), { begun: [{ ...effect('1.0', 'child'), session: 'abc' }] }], [{ kind: 'result', effect: '1.0', result: '', spent: { steps: 1, tokens: 9 } }])) ?? {}
    assert.deepEqual([tokens, session], [9, 'abc'])
  })

  const usage = (usd?: number | null): Facts => ({ kind: 'result', effect: '1.0', result: '', usage: { input: 3, output: 4, ...usd !== undefined && { usd } } })
  const costs: ReadonlyArray<readonly [name: string, fact: Facts, cost: Call['cost']]> = [
    ['what it cost', usage(0.25), { costUsd: 0.25, unpricedCalls: 0 }],
    ['that its model costs nothing', usage(0), { costUsd: 0, unpricedCalls: 0 }],
    ['that nobody knows what it cost', usage(null), { unpricedCalls: 1 }],
    ['no cost in an older log', usage(), undefined],
    ['what a child session cost', { kind: 'failure', effect: '1.0', code: 'X', message: '', spent: { steps: 1, tokens: 9, usd: 0.5, unpriced: 2 } }, { costUsd: 0.5, unpricedCalls: 2 }],
    ['that nobody knows what a child session cost', { kind: 'result', effect: '1.0', result: '', spent: { steps: 1, tokens: 9, unpriced: 2 } }, { costUsd: undefined, unpricedCalls: 2 }],
    ['no cost of a child session in an older log', { kind: 'result', effect: '1.0', result: '', spent: { steps: 1, tokens: 9 } }, undefined]
  ]
  for (const [name, fact, cost] of costs) {
    it(`has ${name}`, () => assert.deepEqual(callOf(audit([said('x'), { begun: [effect('1.0', 'llm')] }], [fact]))?.cost, cost))
  }

  it('costs with others what is known, and how many are not', () => {
    const calls = costs.map(([, fact]) => callOf(audit([said('x'), { begun: [effect('1.0', 'llm')] }], [fact])) as Call)
    assert.deepEqual([sumOfCosts(calls), sumOfCosts([]), sumOfCosts(calls.slice(3, 4)), sumOfCosts(calls.slice(2, 3))], [{ costUsd: 0.75, unpricedCalls: 5 }, undefined, undefined, { costUsd: undefined, unpricedCalls: 1 }])
  })

  it('that begins again keeps its line, and says that it did', () => {
    const lines = linesOf(audit([said('x'), { begun: [effect('1.0', 'llm')] }], [{ kind: 'took' }, { begun: [effect('1.0', 'llm')] }]))
    assert.deepEqual(lines.map(({ call }) => call?.isAgain), [undefined, true, undefined])
  })

  it('has the command as a person has edited it', () => {
    const steps = audit([started], [said('x'), { held: [held('exec', { target: 'web', command: 'rm a' })] }], [{ kind: 'decided', effect: '2.0', by: 'bob', decision: 'approve', command: 'ls a' }])
    assert.equal(callOf(steps)?.subject['command'], 'ls a')
  })

  it('has all steps that it is made of, once', () => {
    const steps = audit([said('x'), { begun: [effect('1.0', 'llm')] }], [{ kind: 'result', effect: '1.0', result: '' }])
    assert.deepEqual(linesOf(steps)[1]?.steps, steps)
  })

  for (const [title, call, expected] of [
    ['the answer of a model', { kind: 'llm', result: answer('Ann.') }, 'Ann.'],
    ['what a model wants to call', { kind: 'llm', result: answer(null, 'find', 'walk') }, '→ find, walk'],
    ['what a command printed', { kind: 'exec', result: { exitCode: 0, stdout: 'one', stderr: 'two' } }, 'one\ntwo'],
    ['what a check printed', { kind: 'check', result: { passed: true, output: 'green' } }, 'green'],
    ['a text', { kind: 'child', result: 'Walked.' }, 'Walked.'],
    ['JSON', { kind: 'tool', result: { a: 1 } }, '{\n  "a": 1\n}'],
    ['nothing yet', { kind: 'tool' }, '']
  ] as const) {
    it(`gives ${title}`, () => { assert.equal(cameOf({ id: '', subject: {}, end: 'ok', ...call }), expected) })
  }
})

describe('The axis of a timeline', () => {
  const at = (began: number, ended?: number) => ({ began, ended })

  it('goes from the first beginning to the last end', () => {
    const axis = axisOf([at(10, 20), at(15, 30)], 100)
    assert.deepEqual([axis(10), axis(20), axis(30)], [0, 0.5, 1])
  })

  it('draws a pause short, however long it was', () => {
    const axis = axisOf([at(0, 100), at(1_000_000, 1_000_100)], 0)
    assert.ok(axis(100) > 0.45 && axis(100) < 0.46 && axis(1_000_000) > 0.54 && axis(1_000_000) < 0.55)
  })

  it('has what runs up to now', () => { assert.equal(axisOf([at(0)], 50)(25), 0.5) })
  it('has nothing where nothing ran', () => { assert.equal(axisOf([{}], 50)(25), 0) })
})

describe('A failed session, tried again,', () => {
  const exec = effect('4.0', 'exec', { target: 'web', command: 'make' })
  const doneOf = (steps: readonly Step[]): readonly string[] => retryOf(steps).done.map(call => `${call.id}${isInDoubt(call) ? ' in doubt' : ''}`)

  it('says its last words again, after a copy of all before them', () => {
    const { way, upTo, text } = retryOf(audit([started], [said('first')], [{ kind: 'result', effect: '2.0', result: '' }], [said('second')]))
    assert.deepEqual([way, upTo, text], ['say', 3, 'second'])
  })

  it('goes back to where a person chose, and chooses nothing', () => {
    const { way, upTo } = retryOf(audit([started], [said('first')], [acted('apply')]))
    assert.deepEqual([way, upTo], ['fork', 2])
  })

  it('begins anew with the same input where nothing was said', () => {
    const { way, start } = retryOf(audit([started]))
    assert.deepEqual([way, start['definition']], ['start', 'agents/desk'])
  })

  it('names what was done since the last words, but no question to a model and nothing before', () => {
    assert.deepEqual(doneOf(audit([started], [said('first'), { begun: [effect('2.0', 'tool')] }], [{ kind: 'result', effect: '2.0', result: '' }], [said('second'), { begun: [exec, effect('4.1', 'llm')] }], [{ kind: 'result', effect: '4.0', result: {} }])), ['4.0'])
  })

  it('says what is in doubt', () => {
    const until = (fact: Facts): readonly Step[] => audit([started], [{ kind: 'took' }], [{ kind: 'took' }], [said('x'), { begun: [exec] }], [fact])
    assert.deepEqual([doneOf(until({ kind: 'unknown', effect: '4.0' })), doneOf(until({ kind: 'stopped', by: 'fault', reason: '' }))], [['4.0 in doubt'], ['4.0 in doubt']])
  })

  it('does not name what was never begun', () => {
    assert.deepEqual(doneOf(audit([started], [said('x'), { held: [held('exec', { command: 'rm' })] }], [{ kind: 'decided', effect: '2.0', by: 'bob', decision: 'reject' }])), [])
  })
})

describe('A trace', () => {
  const sources = readdirSync('src/engine/plan').map(file => readFileSync(`src/engine/plan/${file}`, 'utf8')).join('\n')
  const events = new Set(Array.from(sources.matchAll(/\blog\(turn, '\w+', (?:isHit \? )?'([A-Z_]+)'(?: : '([A-Z_]+)')?|'(CONTEXT_CACHE_[A-Z]+)'/g), found => found.slice(1)).flat().filter(name => name !== undefined))

  it('has a sentence for each event of a plan, in both languages', () => {
    assert.ok(events.size >= 15, [...events].join(' '))
    const unknown = [english, russian].map(({ traceEvent }) => [...events].filter(event => traceEvent(event, () => '') === traceEvent('', () => '')))
    assert.deepEqual(unknown, [[], []])
  })
})
