import type { JsonObject } from '../../base/json.ts'
import { Type } from '../../schema/builder.ts'
import type { Service } from '../../service.ts'
import type { TurnResult } from '../../service/sessions/session-service.ts'
import type { App } from '../app.ts'
import { BEGINS_SESSION, DRIVES_SESSION, idParameters, oneOf } from '../schemas.ts'
import { replyWithTurn, SessionId, SessionStatus, SessionSummary, summariseSession, turnReply } from './sessions.ts'

const TurnError = Type.Object({
  code: oneOf(['MODEL_FAILED', 'MODEL_UNREADABLE', 'TOOL_FAILED', 'TOOL_UNKNOWN', 'BUDGET_USED']),
  message: Type.String()
})

const TurnReply = Type.Object({
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

function describeTurn ({ children, session: { id, status, engine: { view: { stateName, result } } }, stdout }: TurnResult) {
  const { answer = null, value, finishReason, error = null } = (result ?? {}) as JsonObject
  return {
    id,
    stdout: [...stdout],
    status,
    state: stateName,
    answer,
    value,
    finishReason,
    error,
    children: children.map(summariseSession),
    result: { ...result }
  }
}

export function agentRoutes (app: App, { sessions, sessionKinds: { agents } }: Pick<Service, 'sessions' | 'sessionKinds'>): void {
  app.post('/api/agents/:id/sessions', {
    config: { role: 'run', fails: [...BEGINS_SESSION, 'DEFINITIONS_TOO_MANY', 'TOO_MANY_STREAMS'] },
    schema: { tags: ['Agents'], operationId: 'startAgent', summary: 'Start a dialogue with an agent', description: '`Idempotency-Key` makes a request that is sent again start no second one. `Location` is where the session is.', params: idParameters('helper'), response: { 201: turnReply(TurnReply) } }
  }, (request, reply) => replyWithTurn(sessions, request, reply, {
    isStart: true,
    enter: visitor => sessions.start(agents, visitor, request.generation, { id: request.params.id }),
    describe: describeTurn
  }))

  app.post('/api/agents/sessions/:id/message', {
    config: { role: 'run', fails: [...DRIVES_SESSION, 'TOO_MANY_STREAMS'] },
    schema: { tags: ['Agents'], operationId: 'talkToAgent', summary: 'Say something to an agent', description: 'Waits up to 30 s for its answer, with `Prefer: respond-async` not at all; then 202, and `GET /api/sessions/{id}/events` has the rest. `Accept: text/event-stream` streams the events of the turn, however long it takes.', params: SessionId, body: Type.Object({ text: Type.String({ maxLength: 100_000 }) }), response: { 200: turnReply(TurnReply), 202: TurnReply } }
  }, (request, reply) => replyWithTurn(sessions, request, reply, {
    enter: visitor => sessions.say(agents, visitor, request.params.id, { text: request.body.text }),
    describe: describeTurn
  }))
}
