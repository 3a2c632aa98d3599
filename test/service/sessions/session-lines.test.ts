import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import { type Log } from '../../../src/runtime/telemetry.ts'
import { agentEngine } from '../../../src/engine/agent-engine.ts'
import { loopEngine } from '../../../src/engine/loop-engine.ts'
import { logLinesTo } from '../../../src/service/sessions/traces.ts'
import { startOf } from '../../../src/session/engine.ts'
import { answerWith, callOf, Dialogue, exampleAgent } from '../../engine/dialogue.ts'
import { assertDocumented } from '../../helpers/log-lines.ts'

type Line = readonly [method: keyof Log, fields: JsonObject, message: string]

/** Writes what sessions log to a list. */
function writer (hasValues = false): { readonly lines: Line[], readonly write: ReturnType<typeof logLinesTo> } {
  const lines: Line[] = []
  const to = (method: keyof Log) => (fields: object, message: string): void => { lines.push([method, fields as JsonObject, message]) }
  return { lines, write: logLinesTo({ debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') }, hasValues) }
}

const session = { id: '0123456789abcdef0123456789abcdef', start: { definition: 'agents/helper' } } as never

function linesOf (data: JsonObject, hasValues = false): readonly Line[] {
  const { lines, write } = writer(hasValues)
  write(session, { notices: [{ type: 'log', data }, { type: 'stdout', data: { text: 'for the user' } }] })
  return lines
}

/** All that a dialogue has logged. */
function written (dialogue: Dialogue, hasValues: boolean): readonly Line[] {
  const { lines, write } = writer(hasValues)
  for (const transition of dialogue.log) write(session, transition)
  return lines
}

const CANARY = 'canary-7f3a'

/** Dialogues in which whoever may say something says the same. */
function canaries (): Dialogue[] {
  const steps = (...facts: Array<(dialogue: Dialogue) => void>): Dialogue => {
    const dialogue = new Dialogue(startOf(agentEngine), exampleAgent('helper'))
    dialogue.say(CANARY)
    for (const fact of facts) fact(dialogue)
    return dialogue
  }
  const yes = (dialogue: Dialogue): void => { dialogue.end(answerWith({ content: 'да' })) }
  const calls = (name: string, text: string) => (dialogue: Dialogue): void => { dialogue.end(answerWith({ tool_calls: [callOf(name, text)] })) }
  const ends = (result: JsonObject) => (dialogue: Dialogue): void => { dialogue.end(result) }
  const fails = (dialogue: Dialogue): void => { dialogue.fail(CANARY, 'TIMEOUT') }
  const chosen = [yes, calls('rag_search', JSON.stringify({ question: CANARY }))]
  const free = new Dialogue(startOf(loopEngine), exampleAgent('guide'), [{ name: 'find_owners', tool: 'owners.find', declaration: {} }])
  free.say(CANARY)
  free.end(answerWith({ tool_calls: [callOf(CANARY, '{}'), callOf('find_owners', JSON.stringify({ file: CANARY })), callOf('find_owners', CANARY)] }))
  free.fail(CANARY)
  free.end(answerWith({ content: CANARY }))
  free.say(CANARY)
  free.fail(CANARY)
  return [
    steps(fails),
    steps(ends(answerWith({ content: CANARY }) as JsonObject)),
    steps(yes, fails),
    steps(yes, calls(CANARY, '{}')),
    steps(yes, calls('rag_search', CANARY)),
    steps(...chosen, fails),
    steps(...chosen, ends({ status: 'ok' }), ends({ answer: CANARY, chunk_texts: [CANARY] })),
    steps(...chosen, ends({ status: 'ok' }), ends({ error: CANARY })),
    steps(...chosen, ends({ status: 'ok' }), fails),
    free
  ]
}

describe('a line of a session', () => {
  it('has its prefix, its level, the session and the trace', () => {
    assert.deepEqual(linesOf({ prefix: 'cls', level: 'warning', text: 'classify_intent // Irrelevant query' }), [['warn', {
      session: '0123456789abcdef0123456789abcdef',
      traceId: '01234567-89ab-cdef-0123-456789abcdef',
      definition: 'agents/helper',
      prefix: 'cls',
      severity: 'warning'
    }, '[cls] classify_intent // Irrelevant query']])
  })

  for (const [level, method] of [['debug', 'debug'], ['info', 'info'], ['warning', 'warn'], ['error', 'error'], ['critical', 'error']] as const) {
    it(`of level ${level} is one of the log's level ${method}`, () => {
      const [[by, { severity }]] = linesOf({ prefix: 'main', level, text: 'x' }) as [Line]
      assert.deepEqual([by, severity], [method, level])
    })
  }

  it('of a plan has its event, and of the rest what is no text', () => {
    const data = { prefix: 't', level: 'debug', text: 'LLM_REQUEST_SENT token_budget=10 key=a.ts', trace_id: 't', event: 'LLM_REQUEST_SENT', token_budget: 10, key: 'a.ts', code: 'TIMEOUT' }
    const [[, { event, data: more, text }, message]] = linesOf(data) as [Line]
    assert.deepEqual([message, event, more, text], ['[t] LLM_REQUEST_SENT', 'LLM_REQUEST_SENT', { token_budget: 10, code: 'TIMEOUT' }, undefined])
    const [[, whole]] = linesOf(data, true) as [Line]
    assert.deepEqual([whole['data'], whole['text']], [{ token_budget: 10, key: 'a.ts', code: 'TIMEOUT' }, 'LLM_REQUEST_SENT token_budget=10 key=a.ts'])
  })

  it('has only fields that are documented', () => {
    assertDocumented(linesOf({ prefix: 'main', level: 'debug', text: 'x y', brief: 'x', event: 'e', n: 1 }, true).map(([, fields]) => fields))
  })

  it('holds no word of users, models and tools', () => {
    for (const dialogue of canaries()) {
      const lines = written(dialogue, false)
      assert.ok(lines.length > 2)
      assert.doesNotMatch(JSON.stringify(lines), new RegExp(CANARY))
    }
  })

  it('holds them when the operator says so', () => {
    const lines = canaries().map(dialogue => JSON.stringify(written(dialogue, true)))
    assert.ok(lines.filter(text => text.includes(CANARY)).length >= 8)
  })

  it('says which failure ended a dialogue', () => {
    const [dialogue] = canaries() as [Dialogue]
    const [method, { severity, data }, message] = written(dialogue, false).at(-1) as Line
    assert.deepEqual([method, severity, data, message], ['error', 'critical', { code: 'TIMEOUT' }, '[cls] classify_intent // LLM Error: …'])
  })
})
