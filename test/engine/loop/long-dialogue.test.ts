import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import { agentEngine } from '../../../src/engine/agent-engine.ts'
import { loopEngine } from '../../../src/engine/loop-engine.ts'
import { parseAgent } from '../../../src/registry/kinds/agent-kind.ts'
import { type EngineStart, startOf } from '../../../src/session/engine.ts'
import { answerWith, callOf, Dialogue } from '../dialogue.ts'

const TURNS = 200

/** Of the model's calls the 17th fails, and the 11th is prose where a word or a call is wanted. */
const [FAILS, PROSE] = [17, 11]

/** What the model may be sent at most, in characters: the compaction's bound, four characters a token, and the last turns. */
const MOST = 2000 * 4 + 20_000

const TOOL = { name: 'find', tool: 'code.find', declaration: { type: 'function', function: { name: 'find' } } }
const HISTORY = { compact: { above: 2000, keep: 4 } }

const agents: ReadonlyArray<readonly [title: string, engine: EngineStart, agent: JsonObject]> = [
  ['calls tools', startOf(loopEngine), { mode: 'tools', system: 'Be short.', history: HISTORY, tools: [{ tool: 'code.find', name: 'find' }] }],
  ['works in steps', startOf(agentEngine), { mode: 'steps', classify: { prompt: 'Yes or no?' }, tools: [{ tool: 'code.find', name: 'find', parameters: { q: {} }, show: [{ to: 'both', text: 'Found {{q}}.' }] }] }]
]

/** Everything that a dialogue of 200 turns does. */
class Long {
  readonly dialogue: Dialogue
  readonly calls: JsonObject[] = []
  readonly requests: Array<readonly JsonObject[]> = []
  #asked = 0
  #fails = 0

  constructor (engine: EngineStart, agent: JsonObject) {
    this.dialogue = new Dialogue(engine, parseAgent(agent), [TOOL], { steps: 5000, tokens: 100_000_000, idle: 60_000 })
  }

  /** Holds the dialogue; after a failure its user asks again. */
  hold (): void {
    for (let turn = 1; turn <= TURNS; turn++) {
      this.dialogue.say(`Question ${turn}: ${'where is it used? '.repeat(10)}`)
      this.#work(turn)
      for (let again = 0; this.#error() !== null && again < 5; again++) {
        this.#fails++
        this.dialogue.say('/retry')
        this.#work(turn)
      }
      assert.equal(this.#error(), null, `turn ${turn}`)
    }
  }

  get fails (): number {
    return this.#fails
  }

  #error (): unknown {
    return (this.dialogue.session.engine.view.result as JsonObject)['error']
  }

  #work (turn: number): void {
    while (this.dialogue.session.status === 'running') {
      const effect = this.dialogue.effect()
      if (effect.kind === 'tool') {
        this.calls.push(effect.arguments)
        this.dialogue.end({ lines: 'x'.repeat(3000) })
      } else if (effect.kind === 'llm') {
        this.requests.push(effect.messages)
        this.#answer(effect.purpose, effect.messages, turn)
      }
    }
  }

  #answer (purpose: string, messages: readonly JsonObject[], turn: number): void {
    this.#asked++
    if (this.#asked % FAILS === 0) return this.dialogue.fail('connection refused')
    if (purpose === 'compact') return this.dialogue.end(answerWith({ content: 'They asked where things are used.' }))
    if (this.#asked % PROSE === 0) return this.dialogue.end(answerWith({ content: purpose === 'classify' ? 'That depends.' : '' }))
    if (purpose === 'classify') return this.dialogue.end(answerWith({ content: 'Yes, it is.' }))
    const question = messages.findLastIndex(({ content }) => String(content).includes(`Question ${turn}:`))
    const isAnswered = messages.slice(question).some(({ role }) => role === 'tool')
    this.dialogue.end(answerWith(isAnswered ? { content: `Answer ${turn}.` } : { content: null, tool_calls: [callOf('find', `{"q":"${turn}"}`)] }))
  }
}

for (const [title, engine, agent] of agents) {
  describe(`A dialogue of ${TURNS} turns with an agent that ${title}, whose model fails and talks`, () => {
    const long = new Long(engine, agent)
    long.hold()

    it('is alive at its end', () => {
      assert.equal(long.dialogue.session.status, 'waiting_input')
      assert.ok(long.fails > 5)
    })

    it('has made the call of each question once', () => {
      const made = long.calls.map(({ q }) => q)
      assert.deepEqual(made, Array.from({ length: TURNS }, (_, index) => String(index + 1)))
    })

    it('has said nothing twice', () => {
      const answers = long.dialogue.told(0).stdout.filter(line => /^(?:Answer|Found) \d+\.$/.test(line))
      assert.deepEqual(answers.map(line => /\d+/.exec(line)?.[0]), Array.from({ length: TURNS }, (_, index) => String(index + 1)))
    })

    it('has sent the model no more than its bound, in roles that alternate', () => {
      for (const messages of long.requests) {
        assert.ok(JSON.stringify(messages).length <= MOST, String(JSON.stringify(messages).length))
        const spoken = messages.filter(({ role }) => role === 'user' || role === 'assistant' || role === 'tool').map(({ role }) => role)
        assert.equal(spoken[0], 'user')
        for (const [index, role] of spoken.entries()) assert.notEqual(`${String(role)} ${String(spoken[index + 1])}`, `${String(role)} ${role === 'tool' ? 'user' : String(role)}`)
      }
    })

    it('is the same when it is read out of its log', () => {
      assert.deepEqual(long.dialogue.fold().engine.state, long.dialogue.session.engine.state)
    })
  })
}
