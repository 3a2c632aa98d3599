import { type JsonObject } from '../../base/json.ts'
import { Type } from '../../base/schema-builder.ts'
import { toAbortSignal } from '../../runtime/caller-signal.ts'
import { startOfAgent } from '../../service/sessions/start-agent.ts'
import { type Sessions } from '../../service/sessions/sessions.ts'
import { followTurn, type Turn, turnEvents } from '../../service/sessions/turn.ts'
import { type App } from '../app-types.ts'
import { BEGINS_SESSION, DRIVES_SESSION } from '../route-errors.ts'
import { abortWhenGone } from '../client-gone.ts'
import { idParameters } from '../openapi/schemas.ts'
import { SessionStatus } from '../sessions/session-view.ts'
import { sendTurn, turnReply, wantsEvents } from '../sessions/turn-stream.ts'
import { SessionId } from './sessions.ts'

const TurnReply = Type.Object({
  id: Type.String({ description: 'Of the session' }),
  stdout: Type.Array(Type.String(), { description: 'What the user reads, line by line' }),
  status: SessionStatus,
  state: Type.String({ description: 'Where the dialogue is: await_input, classify, select, validate, execute, ended' }),
  result: Type.Unknown({ description: 'The outcome of each step as a code, and the messages so far' })
})

/** The turns of dialogues with agents. */
export function agentRoutes (app: App, sessions: Sessions): void {
  app.post('/api/agents/:id/sessions', {
    config: { role: 'run', fails: BEGINS_SESSION },
    schema: { tags: ['Agents'], operationId: 'startAgent', summary: 'Start a dialogue with an agent', description: '`Idempotency-Key` makes a request that is sent again start no second one. `Location` is where the session is.', params: idParameters('helper'), response: { 201: turnReply(TurnReply) } }
  }, async (request, reply) => {
    const { caller, generation, params, headers } = request
    const { id } = await sessions.start({ caller, start: startOfAgent(generation, params.id, {}), key: headers['idempotency-key'] as string | undefined })
    const signal = toAbortSignal(abortWhenGone(reply))
    reply.code(201).header('location', `/api/sessions/${id}`)
    if (wantsEvents(headers.accept)) return sendTurn(reply, turnEvents(sessions, () => request.callerNow(), id, 0, signal), describeTurn)
    return reply.send(describeTurn(await followTurn(sessions, caller, id, 0, signal)))
  })

  app.post('/api/agents/sessions/:id/message', {
    config: { role: 'run', fails: DRIVES_SESSION },
    schema: { tags: ['Agents'], operationId: 'talkToAgent', summary: 'Say something to an agent', description: 'Waits up to 30 s for its answer; then 202, and `GET /api/sessions/{id}/events` has the rest. `Accept: text/event-stream` streams the events of the turn, however long it takes.', params: SessionId, body: Type.Object({ text: Type.String({ maxLength: 100_000 }) }), response: { 200: turnReply(TurnReply), 202: TurnReply } }
  }, async (request, reply) => {
    const { caller, params: { id }, body, headers } = request
    const { seq } = await sessions.input(caller, id, { text: body.text, key: headers['idempotency-key'] as string | undefined })
    const signal = toAbortSignal(abortWhenGone(reply))
    if (wantsEvents(headers.accept)) return sendTurn(reply, turnEvents(sessions, () => request.callerNow(), id, seq - 1, signal), describeTurn)
    const turn = await followTurn(sessions, caller, id, seq - 1, signal)
    return reply.code(turn.isOpen ? 202 : 200).send(describeTurn(turn))
  })
}

function describeTurn ({ session, stdout }: Turn) {
  const { word, result } = session.engine.view
  return { id: session.id, stdout: [...stdout], status: session.status, state: word, result: (result ?? {}) as JsonObject }
}
