import { type JsonObject } from '../../base/json.ts'
import { type AgentSetting } from '../../registry/kinds/agent/agent-setting.ts'
import { type Engine } from '../../session/engine.ts'
import { type AgentState } from './agent-state.ts'
import { AgentTurn } from './agent-turn.ts'

/** The agent of the requirements: each question is classified, a tool is selected, validated and executed. */
export const agentEngine: Engine<AgentState> = {
  name: 'agent/1',
  next (state, fact, moment) {
    if (fact.kind === 'started') {
      const { agent } = fact.start.setting as unknown as { readonly agent: AgentSetting }
      return new AgentTurn({ setting: agent, step: 'await_input', hasFailed: false, messages: [], pending: undefined, awaits: undefined, codes: {} }, moment).start()
    }
    if (state === undefined) throw new Error('a session begins with "started"')
    const turn = new AgentTurn(state, moment)
    switch (fact.kind) {
      case 'input': return turn.hear(fact.text)
      case 'result': return turn.end(fact.effect, { value: fact.result })
      case 'failure': return turn.end(fact.effect, { failure: fact.message, code: fact.code })
      case 'refused': return turn.end(fact.effect, { failure: fact.reason, code: 'REFUSED' })
      case 'unknown': return turn.end(fact.effect, { failure: 'it was interrupted, and nobody knows how far it came', code: 'UNKNOWN' })
      default: return { state, effects: [], notices: [] }
    }
  },
  view: state => ({ word: state.step, outcome: state.step === 'ended' ? state.hasFailed ? 'failed' : 'completed' : 'open', result: resultOf(state) })
}

/** What a turn of a dialogue came to, as programs read it. */
function resultOf ({ step, codes, messages, pending }: AgentState): JsonObject {
  return { last_state: step, codes: { ...codes }, messages: messages.map(message => ({ ...message })), pending: pending === undefined ? null : { ...pending } }
}
