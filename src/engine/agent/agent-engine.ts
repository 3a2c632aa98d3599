import { type Engine } from '../../session/engine.ts'
import { type DialogueStart } from '../shared/dialogue-start.ts'
import { taskOf } from '../shared/child-task.ts'
import { NOTHING_SAID, refuseAction } from '../shared/dialogue.ts'
import { takeFact } from '../shared/reducer.ts'
import { AGENT, type AgentResult, type AgentState } from './agent-state.ts'
import { AgentReducer } from './agent-reducer.ts'

/**
 * The engine of agents that work in steps: the model first says whether a question concerns the agent, then selects a tool; the service
 * validates the parameters and calls the tool.
 */
export const agentEngine: Engine<DialogueStart, AgentState, AgentResult> = {
  ...AGENT,
  begin: ({ setting: { agent }, ...started }, moment) => {
    const state: AgentState = { ...NOTHING_SAID, setting: agent, step: 'await_input', pending: undefined, awaits: undefined, codes: {} }
    return new AgentReducer(state, moment).start(taskOf(started))
  },
  next: (state, fact, moment) => takeFact(new AgentReducer(state, moment), fact),
  view: state => ({ stateName: state.step, outcome: state.step === 'ended' ? state.hasFailed ? 'failed' : 'completed' : 'open', result: describe(state) }),
  refuses: (state, _text, action) => refuseAction(state, action)
}

function describe ({ step, codes, messages, pending, answer, error }: AgentState): AgentResult {
  return { last_state: step, codes, messages, pending: pending ?? null, answer: answer ?? null, error: error ?? null }
}
