import { type JsonObject } from '../../base/json.ts'
import { type AgentSetting } from '../../registry/kinds/agent/agent-setting.ts'
import { type Engine } from '../../session/engine.ts'
import { takeFact } from '../take-fact.ts'
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
    return takeFact(new AgentTurn(state, moment), fact)
  },
  view: state => ({ word: state.step, outcome: state.step === 'ended' ? state.hasFailed ? 'failed' : 'completed' : 'open', result: resultOf(state) })
}

/** What a turn of a dialogue came to, as programs read it. */
function resultOf ({ step, codes, messages, pending }: AgentState): JsonObject {
  return { last_state: step, codes: { ...codes }, messages: messages.map(message => ({ ...message })), pending: pending === undefined ? null : { ...pending } }
}
