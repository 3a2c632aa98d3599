import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Json } from '../../../src/base/json.ts'
import { agentEngine } from '../../../src/engine/agent-engine.ts'
import { loopEngine } from '../../../src/engine/loop-engine.ts'
import { type SessionMessage, messagesOf, readMessages } from '../../../src/service/sessions/messages.ts'
import { startOf } from '../../../src/session/engine.ts'
import { type Fact, type Notice, type LogEntry } from '../../../src/session/model.ts'
import { answerWith, callOf, Dialogue, exampleAgent } from '../../engine/dialogue.ts'

/** `role by tool|command: text -> output` */
function shortOf ({ role, by, tool, command, text, output }: SessionMessage): string {
  return `${[role, by, tool, command].filter(Boolean).join(' ')}: ${text}${output === undefined ? '' : ` -> ${output}`}`
}

function transitionOf (fact: Fact, notices: readonly Notice[]): LogEntry {
  return { seq: 7, at: 1000, token: 't', by: 'replica', fact, begun: [], held: [], denied: [], notices }
}

const ran = (result: Json): Fact => ({ kind: 'result', effect: '6.0', result })
const sent = (text: string, name?: string, data: { readonly [name: string]: Json } = {}): Fact => ({ kind: 'input', id: 'i1', by: 'ann', text, ...(name === undefined ? {} : { action: { name, data } }) })

async function * read (log: readonly LogEntry[]): AsyncGenerator<LogEntry> {
  yield * log
}

describe('the messages of a session', () => {
  it('of an agent are what its user said, what it showed, and what its tools gave', () => {
    const dialogue = new Dialogue(startOf(agentEngine), exampleAgent('helper'))
    dialogue.say('Отпуск?')
    dialogue.end(answerWith({ content: 'да' }))
    dialogue.end(answerWith({ tool_calls: [callOf('rag_search', '{"question":"отпуск"}')] }))
    dialogue.end({ status: 'ok' })
    dialogue.end({ answer: 'За две недели.', chunk_title_list: [], chunk_texts: [] })
    const messages = dialogue.log.flatMap(messagesOf)
    assert.deepEqual(messages.map(shortOf).filter(text => /^(?:user|tool)/.test(text)), ['user: Отпуск?', 'tool rag.health: ok -> {"status":"ok"}', 'tool rag_search: ok -> {"answer":"За две недели.","chunk_title_list":[],"chunk_texts":[]}'])
    assert.ok(messages.map(shortOf).includes('service: Ответ RAG: За две недели.'))
    assert.deepEqual([messages[0]?.at, messages[0]?.role], ['1970-01-01T00:00:01.000Z', 'service'])
  })

  it('of a free agent have its answer once', () => {
    const dialogue = new Dialogue(startOf(loopEngine), exampleAgent('guide'))
    dialogue.say('Hi')
    dialogue.end(answerWith({ content: 'Hello.' }))
    assert.deepEqual(dialogue.log.slice(1).flatMap(messagesOf).map(shortOf), ['user: Hi', 'assistant: Hello.'])
  })

  const cases: ReadonlyArray<readonly [title: string, fact: Fact, notices: readonly Notice[], expected: readonly string[]]> = [
    ['a goal is what the user says first', { kind: 'started', start: { owner: 'ann', input: { goal: 'fix it' }, setting: {} } } as never, [], ['user ann: fix it']],
    ['a command is proposed', ran({}), [{ type: 'command', data: { phase: 'proposed', command: 'ls', step: 1 } }], ['assistant ls: ']],
    ['a command has printed', ran({ stdout: 'a', stderr: 'b' }), [{ type: 'command', data: { phase: 'ended', command: 'ls', exitCode: 0 } }], ['tool ls:  -> a\nb']],
    ['a client has run a command', sent('', 'command_result', { stdout: 'a' }), [{ type: 'command', data: { phase: 'ended', command: 'ls' } }], ['tool ls:  -> a']],
    ['a user skips', sent('', 'skip'), [], ['user ann: /skip']],
    ['a question, a message and an error', ran({}), [{ type: 'ask', data: { text: 'Which?', required: true } }, { type: 'message', data: { text: 'Done.', isFinal: true } }, { type: 'error', data: { code: 'X', message: 'broke' } }], ['assistant: Which?', 'assistant: Done.', 'service: broke']],
    ['a check and the files of a plan', ran({}), [{ type: 'files', data: { stage: 'applied', files: [{ path: 'a.ts' }, { path: 'b.ts' }] } }, { type: 'command', data: { check: 'test', passed: false, output: '1 failed' } }], ['service: applied: a.ts, b.ts', 'tool test: failed -> 1 failed']],
    ['a call in doubt', { kind: 'unknown', effect: '6.0' }, [{ type: 'tool', data: { effect: '6.0', name: 'pay', tool: 'bank.pay', phase: 'ended', outcome: 'unknown', message: 'Nobody knows whether it was done' } }], ['tool pay: unknown: Nobody knows whether it was done']],
    ['no log lines, states and calls that begin', ran({}), [{ type: 'log', data: { text: 'x' } }, { type: 'state', data: { status: 'running' } }, { type: 'tool', data: { phase: 'called' } }], []]
  ]
  for (const [title, fact, notices, expected] of cases) {
    it(`have a line where ${title}`, () => {
      assert.deepEqual(messagesOf(transitionOf(fact, notices)).map(shortOf), expected)
    })
  }

  it('come in pages that go on behind each other', async () => {
    const dialogue = new Dialogue(startOf(agentEngine), exampleAgent('helper'))
    for (let count = 0; count < 5; count++) dialogue.say('help')
    const all = dialogue.log.flatMap(messagesOf)
    const got: SessionMessage[] = []
    let after = { seq: 0, n: 0 }
    for (let more = true; more;) {
      const { messages, next } = await readMessages(read(dialogue.log.slice(Math.max(0, after.seq - 1))), after, 2)
      got.push(...messages)
      more = next !== undefined
      after = messages.at(-1) ?? after
      assert.ok(messages.length <= 2 && (next === undefined || next === `${after.seq}.${after.n}`))
    }
    assert.deepEqual(got, all)
  })

  it('are cut where they are long, and so is a page', async () => {
    const long = transitionOf(sent('x'.repeat(500_000)), [])
    const { messages, next } = await readMessages(read(Array.from({ length: 20 }, (_, index) => ({ ...long, seq: index + 1 }))), { seq: 0, n: 0 }, 100)
    assert.ok((messages[0]?.text.length ?? 0) < 170_000)
    assert.deepEqual([messages.length, next], [7, '7.0'])
  })
})
