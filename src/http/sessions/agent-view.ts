import { type JsonObject } from '../../base/json.ts'
import { Type } from '../../base/schema-builder.ts'
import { type Progress } from '../../service/sessions/door.ts'
import { oneOf } from '../base/schemas.ts'
import { SessionStatus, SessionSummary, summariseSession } from './session-view.ts'

const TurnError = Type.Object({
  code: oneOf(['MODEL_FAILED', 'MODEL_UNREADABLE', 'TOOL_FAILED', 'TOOL_UNKNOWN', 'BUDGET_USED']),
  message: Type.String()
})

/** The schema of the result of one turn of a dialogue: what the user reads, and the agent's answer. */
export const TurnReply = Type.Object({
  id: Type.String({ description: 'Of the session' }),
  stdout: Type.Array(Type.String(), { description: 'What the user reads, line by line' }),
  status: SessionStatus,
  state: Type.String({ description: 'Where the dialogue is: await_input, classify, select, validate, execute, ended' }),
  answer: Type.Union([Type.String(), Type.Null()], { description: 'What the agent has answered to the last message; null where it has not' }),
  value: Type.Optional(Type.Unknown({ description: 'The answer of an agent that `returns` one of a form' })),
  finishReason: Type.Optional(Type.String({ description: 'Why the model stopped, in the words of its API: `length` and `content_filter` mean that the answer was cut' })),
  error: Type.Union([TurnError, Type.Null()], { description: 'Why the last turn has failed; the dialogue may go on' }),
  children: Type.Array(SessionSummary, { description: 'Sessions that it has started, and that have not ended. Where all of them wait for people, the turn is answered at once with 202; answers go to their ids' }),
  result: Type.Unknown({ description: 'The outcome of each step as a code, and the messages so far' })
})

/** Describes for the reply the result of one turn of a dialogue with an agent. */
export function describeTurn ({ children, session: { id, status, engine: { view: { stateName, result } } }, stdout }: Progress): JsonObject {
  const { answer = null, value, finishReason, error = null } = (result ?? {}) as JsonObject
  return {
    id,
    stdout: [...stdout],
    status,
    state: stateName,
    answer,
    ...(value === undefined ? {} : { value }),
    ...(finishReason === undefined ? {} : { finishReason }),
    error,
    children: children.map(summariseSession),
    result: { ...result }
  }
}
