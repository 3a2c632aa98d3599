import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../src/base/json.ts'
import { type Fact, type Notice } from '../../src/session/model.ts'
import { problemIn, titleIn } from '../../src/session/session.ts'

const started = (input: JsonObject, setting: JsonObject = {}): Fact => ({
  kind: 'started', start: { engine: 'plan/1', definition: 'plans/fix', revision: '', setting, input, owner: 'ann', budget: { steps: 1, tokens: 1, idle: 1 }, ask: [] }
})
const said = (text: string, action?: string): Fact => ({ kind: 'input', id: '1', by: 'ann', text, ...(action === undefined ? {} : { action: { name: action, data: {} } }) })
const skill = (prompt: string, ...parameters: ReadonlyArray<readonly [string, string]>): JsonObject => ({ skill: { prompt, parameters: parameters.map(([name, value]) => ({ name, value })) } })

const TITLES: ReadonlyArray<readonly [title: string, fact: Fact, expected: string | undefined]> = [
  ['the goal of a plan', started({ goal: 'Mend the test' }), 'Mend the test'],
  ['the task of a session that another has started', started({ task: 'Look it up' }), 'Look it up'],
  ['the words to a skill', started({}, skill('only the last week', ['since', 'monday'])), 'only the last week'],
  ['the parameters of a skill without words', started({}, skill('', ['since', 'monday'], ['to', ''], ['branch', 'main'])), 'since: monday, branch: main'],
  ['no parameter whose name is that of a secret', started({}, skill('', ['token', 'abc'])), 'token: [secret]'],
  ['nothing where a session waits for the first words', started({}), undefined],
  ['nothing of a log of another form', started({ goal: 7 }, { skill: { prompt: [], parameters: 'x' } }), undefined],
  ['the first words said', said('Why is it slow?'), 'Why is it slow?'],
  ['no command of a dialogue', said(' /help'), undefined],
  ['no action', said('', 'skip'), undefined],
  ['nothing for spaces', said(' \n '), undefined],
  ['one line of several', said('first\r\n\tsecond\u2028third'), 'first second third'],
  ['the beginning of long words', said('é'.repeat(200)), `${'é'.repeat(120)}…`],
  ['no half of a character', said(`${'a'.repeat(119)}😀b`), `${'a'.repeat(119)}…`],
  ['no secret', said('call it with Bearer abc.def and sk-123'), 'call it with __REDACTED_BEARER__ and __REDACTED_API_KEY__'],
  ['no half of a secret', said(`${'a'.repeat(110)} sk-${'1'.repeat(50)}`), `${'a'.repeat(110)} __REDACTE…`],
  ['nothing of what was done', { kind: 'result', effect: '1.0', result: 'words' }, undefined]
]

describe('A session\'s title is', () => {
  for (const [title, fact, expected] of TITLES) it(title, () => { assert.equal(titleIn(fact), expected) })
})

const result: Fact = { kind: 'result', effect: '1.0', result: '' }
const stopped: Fact = { kind: 'stopped', by: 'expiry', reason: 'nobody has answered' }
const error = (message: string): Notice => ({ type: 'error', data: { code: 'MODEL_FAILED', message } })

const PROBLEMS: ReadonlyArray<readonly [title: string, fact: Fact, notices: readonly Notice[], expected: ReturnType<typeof problemIn>]> = [
  ['the last error of several', result, [error('first'), error('second'), { type: 'done', data: {} }], { code: 'MODEL_FAILED', message: 'second' }],
  ['why it was stopped', stopped, [], { code: 'expiry', message: 'nobody has answered' }],
  ['in one line, without a secret', result, [error('a\nb sk-1')], { code: 'MODEL_FAILED', message: 'a b __REDACTED_API_KEY__' }],
  ['none where none was told', result, [{ type: 'stdout', data: { text: 'hello' } }], undefined]
]

describe('A session\'s problem is', () => {
  for (const [title, fact, notices, expected] of PROBLEMS) it(title, () => { assert.deepEqual(problemIn(fact, notices), expected) })
})
