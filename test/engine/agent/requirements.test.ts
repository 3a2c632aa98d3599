import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { type Json, type JsonObject, stringifyJson } from '../../../src/base/json.ts'
import { agentEngine } from '../../../src/engine/agent-engine.ts'
import { type AgentState } from '../../../src/engine/dialogue-state.ts'
import { startOf } from '../../../src/session/engine.ts'
import { answerWith, callOf, Dialogue, exampleAgent } from '../dialogue.ts'

type Given = { readonly say: string } | { readonly model: string } | { readonly calls: string, readonly text?: string, readonly arguments?: JsonObject } | { readonly answer: Json } | { readonly tool: Json } | { readonly fails: string }

/** A row of requirements.yaml, which says what its fields mean. */
interface Row {
  readonly id: string
  readonly after?: string
  readonly given: readonly Given[]
  readonly selected?: string
  readonly stdout?: readonly string[]
  readonly history?: readonly string[]
  readonly heard?: readonly string[]
  readonly log?: readonly string[]
  readonly then?: readonly string[]
  readonly partOf?: string
  readonly asks?: readonly JsonObject[]
  readonly next: string
}

const rows = parse(readFileSync('test/engine/agent/requirements.yaml', 'utf8')) as Row[]
const byId = new Map(rows.map(row => [row.id, row]))
const helper = exampleAgent('helper')

describe('the helper agent fulfils', () => {
  for (const row of rows) {
    it(row.id, () => {
      const dialogue = new Dialogue(startOf(agentEngine), helper)
      let before = 0
      for (const given of factsOf(row)) {
        before = dialogue.state<AgentState>().messages.length
        give(dialogue, given)
      }
      const { step, hasFailed, messages } = dialogue.state<AgentState>()
      const added = messages.length < before ? [] : messages.slice(before)
      const whole = row.partOf === undefined ? row : rowOf(row.partOf)
      assert.deepEqual(dialogue.told(), { stdout: linesOf(whole, 'stdout'), log: linesOf(whole, 'log') })
      assert.deepEqual(added.filter(({ role }) => role === 'assistant').map(({ content }) => content), linesOf(whole, 'history'))
      assert.deepEqual(added.filter(({ role }) => role === 'user').map(({ content }) => content), whole.heard ?? [])
      assert.equal(hasFailed ? 'failed' : step, row.next)
      if (row.asks !== undefined) assert.deepEqual(dialogue.open.map((effect, index) => pick(effect as unknown as JsonObject, Object.keys(row.asks?.[index] ?? {}))), row.asks)
    })
  }
})

describe('a dialogue with the helper agent', () => {
  it('asks nobody for approval however often the same is asked', () => {
    const dialogue = new Dialogue(startOf(agentEngine), helper)
    for (let count = 0; count < 5; count++) {
      for (const given of factsOf(rowOf('A-36'))) give(dialogue, given)
      assert.equal(dialogue.session.status, 'waiting_input')
    }
  })
})

describe('a choice of the older dialect, function_call,', () => {
  it('is understood', () => {
    const dialogue = new Dialogue(startOf(agentEngine), helper)
    for (const given of factsOf(rowOf('A-17'))) give(dialogue, given)
    dialogue.end(answerWith({ content: '', function_call: { name: 'rag_search', arguments: { question: 'отпуск' } } }))
    assert.ok(dialogue.told().stdout.includes('Выбран инструмент rag_search с параметрами question=отпуск'))
  })
})

describe('a call that may have been done', () => {
  it('is said to be so, and never that it failed', () => {
    const dialogue = new Dialogue(startOf(agentEngine), helper)
    for (const given of factsOf(rowOf('A-37 generate'))) give(dialogue, given)
    dialogue.take({ kind: 'unknown', effect: dialogue.effect().id })
    const shown = 'Вызов generate_haiku прерван. Возможно, он выполнен: проверьте, прежде чем повторять.'
    assert.deepEqual(dialogue.told(), { stdout: [shown], log: ['[exec] generate_haiku // Outcome unknown: it was interrupted. Nobody knows whether it was done (error)', '[main] AgentRestart (debug)'] })
    const { messages, codes } = dialogue.state<AgentState>()
    assert.deepEqual([messages.at(-1), codes.execute], [{ role: 'assistant', content: shown, kind: 'said' }, 403])
  })
})

describe('the requirements', () => {
  it('A-09 to A-38 have a row each, of its own name', () => {
    const ids = Array.from({ length: 30 }, (_, index) => `A-${String(index + 9).padStart(2, '0')}`)
    assert.deepEqual([...new Set(rows.map(({ id }) => id.slice(0, 4)))], ids)
    assert.equal(byId.size, rows.length)
  })

  it('A-08 name these commands', () => {
    assert.deepEqual(new Set(helper.commands.exit), new Set(['/exit', '/quit', '/q', 'exit', 'quit', 'q']))
    assert.deepEqual(new Set(helper.commands.help), new Set(['/help', 'help', '?']))
    assert.deepEqual(helper.commands.retry, [])
    assert.deepEqual(helper.history, { turns: 20, messages: 10, status: true, compact: { above: 24_000, keep: 4 } })
  })
})

function rowOf (id: string): Row {
  const row = byId.get(id)
  assert.ok(row !== undefined, `there is no row ${id}`)
  return row
}

/** All facts that lead to a row. */
function factsOf ({ after, given }: Row): Given[] {
  return [...after === undefined ? [] : factsOf(rowOf(after)), ...given]
}

/** What a row adds to a channel, with what comes before and after it at once. */
function linesOf ({ selected, then = [], ...row }: Row, channel: 'stdout' | 'history' | 'log'): string[] {
  const chosen = selected === undefined ? [] : [...channel === 'log' ? rowOf('A-21').log ?? [] : [selected], ...rowOf('A-22')[channel] ?? []]
  const lines = [...chosen, ...row[channel] ?? [], ...then.flatMap(id => rowOf(id)[channel] ?? [])]
  return lines.map(line => line === '<help>' ? helper.help : line)
}

function give (dialogue: Dialogue, given: Given): void {
  if ('say' in given) dialogue.say(given.say)
  else if ('fails' in given) dialogue.fail(given.fails)
  else if ('tool' in given) dialogue.end(given.tool)
  else if ('answer' in given) dialogue.end(given.answer)
  else if ('model' in given) dialogue.end(answerWith({ content: given.model }))
  else dialogue.end(answerWith({ content: null, tool_calls: [callOf(given.calls, given.text ?? stringifyJson(given.arguments ?? {}))] }))
}

function pick (effect: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map(name => [name, effect[name] as Json]))
}
