import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import { agentEngine } from '../../../src/engine/agent-engine.ts'
import { type AgentState } from '../../../src/engine/dialogue-state.ts'
import { parseAgent } from '../../../src/registry/kinds/agent-kind.ts'
import { startOf } from '../../../src/session/engine.ts'
import { answerWith, callOf, Dialogue, exampleAgent } from '../dialogue.ts'

const librarian = exampleAgent('librarian')
const QUESTION = 'Who owns ledger/book.go?'

function asked (change: JsonObject = {}): Dialogue {
  const dialogue = new Dialogue(startOf(agentEngine), { ...librarian, ...change })
  dialogue.say(QUESTION)
  return dialogue
}

const model = (content: string) => answerWith({ content })
const calls = (text: string) => answerWith({ content: null, tool_calls: [callOf('find_owners', text)] })
const errorOf = (dialogue: Dialogue) => dialogue.state<AgentState>().error

/** What the model is sent behind the system message. */
function sent (dialogue: Dialogue): string[] {
  const effect = dialogue.effect()
  assert.ok(effect.kind === 'llm')
  return effect.messages.slice(1).map(({ role, content }) => `${role as string}: ${content as string}`)
}

describe('The forgiving librarian', () => {
  it('understands a sentence that begins with yes', () => {
    const dialogue = asked()
    dialogue.end(model('Yes, it is about an owner.'))
    assert.equal(dialogue.state<AgentState>().step, 'select')
  })

  it('asks once more for a word, in words that alternate', () => {
    const dialogue = asked()
    dialogue.end(model('perhaps'))
    assert.deepEqual(sent(dialogue), [`user: ${QUESTION}`, 'assistant: perhaps', 'user: Answer with exactly one word: yes or no.'])
    dialogue.end(model('no'))
    assert.deepEqual([dialogue.told().stdout[0], dialogue.session.status], ['I know only about this project.', 'waiting_input'])
  })

  it('takes what stays unclear as relevant, as irrelevant or as an error, as its definition says', () => {
    for (const [unclear, step, code] of [['relevant', 'select', undefined], ['irrelevant', 'await_input', undefined], ['error', 'await_input', 'MODEL_UNREADABLE']] as const) {
      const dialogue = asked({ classify: { prompt: 'x', answers: 'lenient', unclear } })
      dialogue.end(model('perhaps'))
      dialogue.end(model('perhaps'))
      assert.deepEqual([dialogue.state<AgentState>().step, errorOf(dialogue)?.code], [step, code])
    }
  })

  it('sends no lines about its own work, and no repair of an earlier step', () => {
    const dialogue = asked()
    dialogue.end(model('perhaps'))
    dialogue.end(model('yes'))
    assert.deepEqual(sent(dialogue), [`user: ${QUESTION}`])
  })

  it('goes on when its model fails, and asks for the same step again', () => {
    const dialogue = asked()
    dialogue.end(model('yes'))
    dialogue.fail('connection refused')
    assert.deepEqual(dialogue.told(), {
      stdout: ['The model does not answer. /retry asks again, or say something else.'],
      log: ['[select] select_tool_call // LLM Error: connection refused (error)', '[main] AgentRestart (debug)']
    })
    assert.deepEqual([dialogue.session.status, errorOf(dialogue)], ['waiting_input', { code: 'MODEL_FAILED', message: 'connection refused' }])
    dialogue.say('/RETRY')
    assert.deepEqual([dialogue.state<AgentState>().step, errorOf(dialogue), sent(dialogue)], ['select', undefined, [`user: ${QUESTION}`]])
  })

  it('sends arguments back that are no JSON, and makes the call that comes then', () => {
    const dialogue = asked()
    dialogue.end(model('yes'))
    dialogue.end(calls('{file: ledger/book.go}'))
    assert.match(sent(dialogue).join('\n'), /^user: .*\nassistant: find_owners \{file: ledger\/book\.go\}\nuser: Your answer cannot be read\. .*the arguments are not JSON/s)
    dialogue.end(calls('{"file": "ledger/book.go"}'))
    assert.equal(dialogue.effect().kind, 'tool')
  })

  it('says that it did not understand when the repair is no better', () => {
    const dialogue = asked()
    dialogue.end(model('yes'))
    dialogue.end(calls('[1]'))
    dialogue.end(calls('[1]'))
    assert.deepEqual([dialogue.told().stdout, dialogue.session.status, errorOf(dialogue)?.code], [['I did not understand the model. /retry asks again, or say it in other words.'], 'waiting_input', 'MODEL_UNREADABLE'])
  })

  it('answers a choice of no tool with words, once an empty one was sent back', () => {
    const dialogue = asked()
    dialogue.end(model('yes'))
    dialogue.end(model(''))
    dialogue.end(model(''))
    assert.deepEqual([dialogue.told().stdout, errorOf(dialogue)], [['I do not know where to look for that. Could you say it in other words?'], undefined])
  })

  it('tells of a tool that failed, and what its user was answered', () => {
    const dialogue = asked()
    dialogue.end(model('yes'))
    dialogue.end(calls('{"file": "ledger/book.go"}'))
    dialogue.fail('status 500')
    const { answer } = dialogue.state<AgentState>()
    assert.deepEqual([errorOf(dialogue), answer], [{ code: 'TOOL_FAILED', message: 'status 500' }, 'The list of owners cannot be read now. Please try again later.'])
  })

  it('sends every message on to the choice of a tool where it does not classify', () => {
    const { classify: _, select: __, ...rest } = librarian
    const dialogue = new Dialogue(startOf(agentEngine), rest)
    dialogue.say(QUESTION)
    const effect = dialogue.effect()
    assert.ok(effect.kind === 'llm')
    assert.match(String(effect.messages[0]?.['content']), /^Call the one function that answers/)
  })

  it('ends with its budget, and says so', () => {
    const dialogue = new Dialogue(startOf(agentEngine), parseAgent({ mode: 'steps', tools: [] }), [], { steps: 1, tokens: 1000, idle: 1000 })
    dialogue.say('Who?')
    dialogue.end(model('none'))
    dialogue.say('Who?')
    assert.deepEqual([dialogue.told().stdout, dialogue.session.status], [['Choosing a tool..', 'This dialogue has used up its budget.'], 'failed'])
  })
})
