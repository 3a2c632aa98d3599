import { type AgentSetting } from '../../registry/kinds/agent/agent-setting.ts'
import { type Engine } from '../../session/engine.ts'
import { takeFact } from '../take-fact.ts'
import { type LoopState, type OfferedTool } from './loop-state.ts'
import { LoopTurn } from './loop-turn.ts'

/** The free agent: the model calls tools until it has an answer. */
export const loopEngine: Engine<LoopState> = {
  name: 'loop/1',
  next (state, fact, moment) {
    if (fact.kind === 'started') {
      const { agent, tools } = fact.start.setting as unknown as { readonly agent: AgentSetting, readonly tools: readonly OfferedTool[] }
      return new LoopTurn({ setting: agent, tools, step: 'await_input', hasFailed: false, messages: [], turn: 0, asked: undefined, calls: [] }, moment).start()
    }
    if (state === undefined) throw new Error('a session begins with "started"')
    return takeFact(new LoopTurn(state, moment), fact)
  },
  view: ({ step, hasFailed, messages }) => ({ word: step, outcome: step === 'ended' ? hasFailed ? 'failed' : 'completed' : 'open', result: { last_state: step, messages } })
}
