import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { agentEngine } from '../../src/engine/agent-engine.ts'
import { loopEngine } from '../../src/engine/loop-engine.ts'
import { type AgentSetting } from '../../src/registry/kinds/agent-setting.ts'
import { parseAgent } from '../../src/registry/kinds/agent-kind.ts'
import { type EngineStart, startOf } from '../../src/session/engine.ts'
import { ENDED } from '../../src/session/model.ts'
import { answerWith, callOf, Dialogue, exampleAgent } from './dialogue.ts'
import { events, feed, happen } from './random-facts.ts'
import { property } from '../helpers/property.ts'

const free = parseAgent({ mode: 'tools', help: 'Ask me.', maxTurns: 4, tools: [{ tool: 'code.owners', name: 'owners' }, { tool: 'code.lines', name: 'lines' }] })
const offered = free.tools.map(({ name, tool }) => ({ name, tool, declaration: { type: 'function', function: { name } } }))

const agents: ReadonlyArray<readonly [title: string, engine: EngineStart, setting: AgentSetting]> = [
  ['the helper agent', startOf(agentEngine), exampleAgent('helper')],
  ['the librarian', startOf(agentEngine), exampleAgent('librarian')],
  ['a free agent', startOf(loopEngine), free]
]

for (const [title, engine, setting] of agents) {
  const names = setting.tools.map(({ name }) => name)
  const random = events(names, ['question', 'theme', 'file', 'symbol'], setting.commands.help ?? ['help'])
  const begin = (steps = 30) => new Dialogue(engine, setting, offered, { steps, tokens: 1000, idle: 60_000 }, setting.tools.slice(0, 1).map(({ tool }) => tool))

  describe(title, () => {
    property('throws at no sequence of facts, and never stands still', 100, given => {
      given.holds(fc.property(random, happenings => {
        const dialogue = begin()
        for (const each of happenings) {
          if (ENDED.has(dialogue.session.status)) break
          // The runner lets nobody speak before the dialogue waits; the engine has to bear it all the same.
          if (each.kind === 'say' && dialogue.session.status !== 'waiting_input') engineOf(dialogue, each.text)
          else happen(dialogue, each)
        }
        const { status } = dialogue.session
        assert.ok(ENDED.has(status) || dialogue.open.length > 0, `it is ${status}, and nothing would wake it`)
      }))
    })

    property('is the same when it is read out of its log', 100, given => {
      given.holds(fc.property(random, happenings => {
        const dialogue = begin()
        for (const each of happenings) {
          if (ENDED.has(dialogue.session.status)) break
          if (each.kind !== 'say' || dialogue.session.status === 'waiting_input') happen(dialogue, each)
        }
        const { engine: { state }, ...live } = dialogue.session
        const { engine: { state: folded }, ...read } = dialogue.fold()
        assert.deepEqual(folded, state)
        assert.deepEqual({ ...read, engine: undefined }, { ...live, engine: undefined })
      }))
    })

    it('ends each question within its limits, whatever model and tools say', () => {
      const [name = ''] = names
      let n = 0
      const calls = () => answerWith({ content: 'yes', tool_calls: [callOf(name, `{"n":${++n}}`)] })
      const dialogue = new Dialogue(engine, setting, offered)
      dialogue.say('Who?')
      const given = feed(dialogue, ({ kind }) => kind === 'llm' ? calls() : { status: 'ok' }, 100)
      assert.equal(dialogue.session.status, 'waiting_input')
      assert.ok(given <= 2 * setting.maxTurns)
    })

    property('ends with its budget', 100, given => {
      given.holds(fc.property(random, fc.integer({ min: 1, max: 5 }), (happenings, steps) => {
        const dialogue = begin(steps)
        for (const each of happenings) {
          if (ENDED.has(dialogue.session.status)) break
          if (each.kind !== 'say' || dialogue.session.status === 'waiting_input') happen(dialogue, each)
        }
        assert.ok(dialogue.session.used.steps <= steps)
      }))
    })
  })
}

describe('the English librarian', () => {
  const setting = exampleAgent('librarian')

  property('shows and logs no Russian letter at any outcome', 100, given => {
    const said = events(setting.tools.map(({ name }) => name), ['file', 'symbol'], ['who?', 'help', 'forget', 'bye'])
    given.holds(fc.property(said, happenings => {
      const dialogue = new Dialogue(startOf(agentEngine), setting)
      for (const each of happenings) {
        if (ENDED.has(dialogue.session.status)) break
        if (each.kind !== 'say' || dialogue.session.status === 'waiting_input') happen(dialogue, each)
      }
      const { stdout, log } = dialogue.told(0)
      assert.doesNotMatch([...stdout, ...log].join('\n'), /\p{Script=Cyrillic}/u)
    }))
  })

  it('answers with what its tools give', () => {
    const dialogue = new Dialogue(startOf(agentEngine), setting)
    dialogue.say('Who owns ledger/book.go?')
    dialogue.end(answerWith({ content: 'Yes' }))
    dialogue.end(answerWith({ content: null, tool_calls: [callOf('find_owners', '{"file":"ledger/book.go"}')] }))
    dialogue.end({ owners: ['@payments-core', '@finance-audit'] })
    assert.deepEqual(dialogue.told(1).stdout, [
      'Reading your question...', 'That is for me.', 'Choosing where to look...', 'Looking with find_owners: file=ledger/book.go', 'Checking what I need to know...',
      'I shall look up who owns ledger/book.go.', 'Looking it up...', 'ledger/book.go belongs to @payments-core, @finance-audit.'
    ])
  })
})

/** Gives a line straight to an engine that does not wait for it. */
function engineOf ({ session }: Dialogue, text: string): void {
  const before = session.engine.state
  const { engine, effects } = session.engine.take({ kind: 'input', id: 'i', by: '', text }, { session: session.id, seq: session.seq + 1, at: 0, effects: 0, notices: 0 })
  if (session.engine.view.stateName !== 'await_input') assert.deepEqual([engine.state, effects], [before, []])
}
