import { type Engine } from '../../session/engine.ts'
import { type DialogueStart } from '../shared/dialogue-start.ts'
import { taskOf } from '../shared/child-task.ts'
import { NOTHING_SAID, refuseAction } from '../shared/dialogue.ts'
import { takeFact } from '../shared/reducer.ts'
import { LOOP, type LoopResult, type LoopState } from './loop-state.ts'
import { LoopReducer } from './loop-reducer.ts'

/** The engine of free agents: the model calls tools as it likes until it has an answer. */
export const loopEngine: Engine<DialogueStart, LoopState, LoopResult> = {
  ...LOOP,
  begin: ({ setting: { agent, tools, definitions }, ...started }, moment) => new LoopReducer({
    ...NOTHING_SAID,
    setting: agent,
    tools,
    ...(definitions === undefined ? {} : { definitions }),
    step: 'await_input',
    turn: 0,
    asked: undefined,
    summary: undefined,
    hasCompacted: false,
    lastInput: 0,
    value: undefined,
    calls: []
  }, moment).start(taskOf(started)),
  next: (state, fact, moment) => takeFact(new LoopReducer(state, moment), fact),
  view: ({ step, hasFailed, messages, answer, value, finishReason, handover, error }) => ({
    stateName: step,
    outcome: step === 'ended' ? hasFailed ? 'failed' : 'completed' : 'open',
    ...(handover === undefined ? {} : { definition: handover.active }),
    result: {
      last_state: step,
      messages,
      answer: answer ?? null,
      ...(value === undefined ? {} : { value }),
      ...(finishReason === undefined ? {} : { finishReason }),
      ...(handover === undefined ? {} : { active: handover.active }),
      error: error ?? null
    }
  }),
  refuses: (state, _text, action) => refuseAction(state, action)
}
