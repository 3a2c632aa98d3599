import { Type } from '../../base/schema-builder.ts'
import { type Service } from '../../service.ts'
import { type App } from '../base/app-types.ts'
import { BEGINS_SESSION, DRIVES_SESSION } from '../base/route-errors.ts'
import { idParameters } from '../base/schemas.ts'
import { describeTurn, TurnReply } from '../sessions/agent-view.ts'
import { answerVisit, turnReply } from '../sessions/visit-reply.ts'
import { SessionId } from './sessions.ts'

/** The routes of dialogues with agents. Each request is one turn: what the user says, and the agent's answer. */
export function agentRoutes (app: App, { door, sessionKinds: { agents } }: Pick<Service, 'door' | 'sessionKinds'>): void {
  app.post('/api/agents/:id/sessions', {
    config: { role: 'run', fails: [...BEGINS_SESSION, 'DEFINITIONS_TOO_MANY', 'TOO_MANY_STREAMS'] },
    schema: { tags: ['Agents'], operationId: 'startAgent', summary: 'Start a dialogue with an agent', description: '`Idempotency-Key` makes a request that is sent again start no second one. `Location` is where the session is.', params: idParameters('helper'), response: { 201: turnReply(TurnReply) } }
  }, (request, reply) => answerVisit(door, request, reply, {
    isStart: true,
    enter: visitor => door.start(agents, visitor, request.generation, { id: request.params.id }),
    describe: describeTurn
  }))

  app.post('/api/agents/sessions/:id/message', {
    config: { role: 'run', fails: [...DRIVES_SESSION, 'TOO_MANY_STREAMS'] },
    schema: { tags: ['Agents'], operationId: 'talkToAgent', summary: 'Say something to an agent', description: 'Waits up to 30 s for its answer, with `Prefer: respond-async` not at all; then 202, and `GET /api/sessions/{id}/events` has the rest. `Accept: text/event-stream` streams the events of the turn, however long it takes.', params: SessionId, body: Type.Object({ text: Type.String({ maxLength: 100_000 }) }), response: { 200: turnReply(TurnReply), 202: TurnReply } }
  }, (request, reply) => answerVisit(door, request, reply, {
    enter: visitor => door.say(agents, visitor, request.params.id, { text: request.body.text }),
    describe: describeTurn
  }))
}
