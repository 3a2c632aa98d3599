import assert from 'node:assert/strict'
import { describe } from 'node:test'
import fc from 'fast-check'
import { type Json, type JsonObject } from '../../../src/base/json.ts'
import { ENDED, type ModelEffect, type LogEntry } from '../../../src/session/model.ts'
import { approved } from '../../session/approve.ts'
import { property } from '../../helpers/property.ts'
import { answerWith, callOf } from '../dialogue.ts'
import { calling, SkillDialogue } from './skill-dialogue.ts'

const command = fc.constantFrom('ls', 'rm a', 'make', 'echo 1', 'echo 2')
const call = fc.oneof(
  { weight: 8, arbitrary: fc.record({ command }).map(given => ['run_command', given] as const) },
  { weight: 2, arbitrary: fc.record({ question: fc.constantFrom('why?', ''), required: fc.boolean() }).map(given => ['ask_user', given] as const) },
  { weight: 2, arbitrary: fc.record({ text: fc.string({ maxLength: 5 }) }).map(given => ['tell_user', given] as const) },
  fc.constantFrom(['finish', { summary: 'Done.' }], ['finish', {}], ['nope', {}], ['constructor', {}], ['run_command', 'rm a'], ['run_command', { command: 'ls', cwd: '/' }]) as fc.Arbitrary<readonly [string, JsonObject | string]>
)
const answer = fc.oneof(
  { weight: 12, arbitrary: fc.array(call, { minLength: 1, maxLength: 14 }).map(calls => calling(...calls as ReadonlyArray<readonly [string, JsonObject | string]>)) },
  fc.constantFrom('rm a', '', '[CMD] make', '[ASK] why?', '[DONE]').map(content => answerWith({ content })),
  fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
  fc.constant(answerWith({ content: 'x', function_call: (callOf('run_command', '{"command":"ls"}')['function'] ?? null) as Json }))
)
const ran = fc.record({ outcome: fc.constantFrom('exited', 'exited', 'exited', 'timeout', 'cancelled'), exitCode: fc.constantFrom(0, 0, 0, 1, null), stdout: fc.string({ maxLength: 5 }) }) as fc.Arbitrary<Json>

interface Event {
  readonly answer: Json
  readonly ran: Json
  readonly end: 'result' | 'failure' | 'tools' | 'unknown' | 'reject'
  readonly say: string
  readonly action: string
}
const event: fc.Arbitrary<Event> = fc.record({
  answer,
  ran,
  end: fc.oneof({ weight: 16, arbitrary: fc.constant('result' as const) }, fc.constantFrom('failure' as const, 'tools' as const, 'unknown' as const, 'reject' as const)),
  say: fc.constantFrom('yes', '', 'again', 'skip', 'rm a'),
  action: fc.constantFrom('', 'command_result', 'skip', 'again', 'continue')
})
const setting = fc.record({ target: fc.constantFrom('', 'web', 'web'), autoContinue: fc.boolean(), maxSteps: fc.integer({ min: 1, max: 6 }), history: fc.constantFrom('full' as const, 'last_n' as const, 'system_only' as const), historyMax: fc.integer({ min: 1, max: 6 }) })

/** Lets happen what the skill waits for. */
function happen (dialogue: SkillDialogue, { answer, ran, end, say, action }: Event): void {
  const effect = dialogue.open.find(({ kind }) => kind !== 'wait')
  if (effect === undefined) {
    if (dialogue.session.status !== 'waiting_input') return
    const given = action === '' ? undefined : { name: action, data: {} }
    if (dialogue.session.engine.refuses(say, given) !== undefined) return
    if (given === undefined) dialogue.say(say)
    else dialogue.act(given.name, given.data)
    return
  }
  const { id, kind } = effect
  if (dialogue.session.open.get(id)?.phase === 'held') dialogue.take(end === 'reject' ? { kind: 'decided', effect: id, by: 'me', decision: 'reject' } : approved(dialogue.session, id))
  else if (kind === 'llm' && end === 'tools') dialogue.fail('no tools', 'TOOLS_REFUSED')
  else if (end === 'failure') dialogue.fail('broken', 'X')
  else if (kind === 'exec' && end === 'unknown') dialogue.take({ kind: 'unknown', effect: id })
  else dialogue.end(kind === 'llm' ? answer : kind === 'exec' ? ran : { files: [] })
}

/** Each call of a request is answered behind it, in its order, and a user comes first. */
function assertTakenByApis ({ messages }: ModelEffect): void {
  const roles = messages.map(({ role }) => role)
  assert.deepEqual(roles.slice(0, 2), ['system', 'user'])
  let owed: Json[] = []
  for (const { role, tool_calls: calls, function_call: older, tool_call_id: of, name } of messages) {
    if (role === 'tool' || role === 'function') {
      assert.equal(role === 'tool' ? of : name, owed.shift())
      continue
    }
    assert.deepEqual(owed, [], 'a call has no result')
    owed = Array.isArray(calls) ? (calls as readonly JsonObject[]).map(({ id }) => id ?? null) : older === undefined ? [] : [(older as JsonObject)['name'] ?? null]
  }
  assert.deepEqual(owed, [])
  assert.ok(roles.every((role, index) => role !== 'user' || roles[index - 1] !== 'user'), roles.join(' '))
}

/** What was begun of commands in a transition. */
const commandsOf = ({ begun }: LogEntry): unknown[] => begun.flatMap(({ kind, subject }) => kind === 'exec' ? [subject?.['command']] : [])

describe('a skill by calls', () => {
  property('ends within its steps whatever its model calls, runs one command at a time and none that is denied, and sends what APIs take', 500, given => {
    let useful = 0
    given.holds(fc.property(setting, fc.array(event, { maxLength: 80 }), (setting, happenings) => {
      const dialogue = new SkillDialogue({ protocol: 'tools', ...setting })
      for (const each of happenings) {
        if (ENDED.has(dialogue.session.status)) break
        happen(dialogue, each)
        assert.ok(dialogue.open.length <= 1)
        const [effect] = dialogue.open
        if (effect?.kind === 'llm') assertTakenByApis(effect)
      }
      const { status, engine: { state } } = dialogue.session
      assert.ok(ENDED.has(status) || dialogue.open.length > 0, `it is ${status}, and nothing would wake it`)
      assert.ok(dialogue.result.step <= setting.maxSteps)
      const commands = dialogue.log.flatMap(commandsOf)
      assert.ok(!commands.some(each => String(each).startsWith('rm')), 'what is denied was run')
      assert.ok(setting.target !== '' || commands.length === 0, 'a command was run where its user runs them')
      // Of each step ten calls are worked off, and what was interrupted may be run again.
      const again = dialogue.log.filter(({ fact }) => fact.kind === 'unknown').length
      assert.ok(commands.length <= 10 * setting.maxSteps + again, `${commands.length} commands`)
      if (commands.length > 1) useful++
      assert.deepEqual(dialogue.fold().engine.state, state)
    }))
    given.wasOfUse(useful, 0.2)
  })
})
