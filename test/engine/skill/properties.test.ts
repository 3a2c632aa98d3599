import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Json, type JsonObject } from '../../../src/base/json.ts'
import { ENDED, type Fact } from '../../../src/session/model.ts'
import { approved } from '../../session/approve.ts'
import { answerWith } from '../dialogue.ts'
import { SkillDialogue } from './skill-dialogue.ts'
import { property } from '../../helpers/property.ts'

type Event = { readonly kind: 'say', readonly text: string } | { readonly kind: 'act', readonly name: string, readonly data: JsonObject } | { readonly kind: 'result', readonly value: Json } | { readonly kind: 'failure' | 'unknown' | 'refused' | 'approve' | 'reject' }

const text = fc.oneof(fc.constantFrom('', ' ', '[CMD] rm -rf /', 'yes'), fc.string({ maxLength: 20 }))
const reply = fc.tuple(fc.constantFrom('[CMD] ', '[ASK] ', '[ASK:optional] ', '[MESSAGE] ', '[DONE] ', ''), fc.oneof(fc.constantFrom('ls', 'rm a', 'a'), text)).map(([tag, words]) => answerWith({ content: tag + words }))
const ran = fc.record({ outcome: fc.constantFrom('exited', 'timeout', 'cancelled', 'lost'), exitCode: fc.constantFrom(0, 1, null), stdout: text, stderr: text, command: fc.constantFrom('ls', ''), cwd: fc.constantFrom('/a', '') }, { requiredKeys: [] })
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 8, arbitrary: fc.oneof(reply, ran as fc.Arbitrary<Json>, fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>).map(value => ({ kind: 'result' as const, value })) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('say' as const), text }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('act' as const), name: fc.constantFrom('command_result', 'skip', 'again', 'continue', 'constructor'), data: fc.oneof(ran as fc.Arbitrary<JsonObject>, fc.dictionary(fc.constantFrom('stdout', 'exitCode', '__proto__'), fc.jsonValue({ maxDepth: 1 })) as fc.Arbitrary<JsonObject>) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('failure' as const, 'unknown' as const, 'refused' as const, 'approve' as const, 'reject' as const) }) }
)
const setting = fc.record({ target: fc.constantFrom('', 'web'), autoContinue: fc.boolean(), maxSteps: fc.integer({ min: 1, max: 8 }), history: fc.constantFrom('full' as const, 'last_n' as const, 'system_only' as const), historyMax: fc.integer({ min: 1, max: 4 }) })

/** As the runner has it: inputs that are refused come to nothing, and only what is open ends. */
function happen (dialogue: SkillDialogue, given: Event): void {
  if (given.kind === 'say' || given.kind === 'act') {
    const [words, action] = given.kind === 'say' ? [given.text, undefined] : ['', { name: given.name, data: given.data }]
    if (dialogue.session.engine.refuses(words, action) !== undefined || dialogue.session.status !== 'waiting_input') return
    if (action === undefined) dialogue.say(words)
    else dialogue.act(action.name, action.data)
    return
  }
  const effect = dialogue.open.find(({ kind }) => kind !== 'wait')?.id
  if (effect !== undefined) dialogue.take(given.kind === 'approve' ? approved(dialogue.session, effect) : factOf(given, effect))
}

function factOf (given: Exclude<Event, { readonly kind: 'say' | 'act' }>, effect: string): Fact {
  switch (given.kind) {
    case 'result': return { kind: 'result', effect, result: given.value }
    case 'failure': return { kind: 'failure', effect, code: 'X', message: 'broken' }
    case 'unknown': return { kind: 'unknown', effect }
    case 'refused': return { kind: 'refused', effect, by: 'policy', reason: 'forbidden' }
    default: return { kind: 'decided', effect, by: 'me', decision: 'reject' }
  }
}

describe('a skill', () => {
  property('throws at no sequence of facts, never stands still, ends within its steps, and is the same when its log is read', 500, given => {
    given.holds(fc.property(setting, fc.array(event, { maxLength: 60 }), (given, happenings) => {
      const dialogue = new SkillDialogue(given)
      for (const each of happenings) {
        if (ENDED.has(dialogue.session.status)) break
        const { messages } = dialogue.skill
        happen(dialogue, each)
        // Only the model's own words of a command that a person has edited are replaced.
        assert.deepEqual(dialogue.skill.messages.slice(0, Math.max(0, messages.length - 1)), messages.slice(0, -1))
        const roles = dialogue.skill.messages.map(({ role }) => role)
        assert.ok(roles.every((role, index) => role === (index % 2 === 0 ? 'user' : 'assistant')), roles.join(' '))
      }
      const { status, engine: { state } } = dialogue.session
      assert.ok(ENDED.has(status) || dialogue.open.length > 0, `it is ${status}, and nothing would wake it`)
      assert.ok(dialogue.result.step <= given.maxSteps)
      assert.deepEqual(dialogue.fold().engine.state, state)
    }))
  })

  it('ends with its budget', () => {
    const dialogue = new SkillDialogue({}, { steps: 3, tokens: 1000, idle: 60_000 })
    for (let count = 0; count < 5 && dialogue.session.status === 'running'; count++) dialogue.end(answerWith({ content: '[MESSAGE] more' }))
    assert.deepEqual([dialogue.session.status, dialogue.session.used.steps], ['failed', 3])
  })
})
