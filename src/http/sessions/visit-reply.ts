import { type FastifyReply, type FastifyRequest } from 'fastify'
import { type JsonObject } from '../../base/json.ts'
import { type TSchema } from '../../base/schema-builder.ts'
import { type Progress, type SessionDoor, type Visitor } from '../../service/sessions/door.ts'
import { holdStream, sendEvents } from '../base/send-events.ts'
import { EventStream, eventStream } from './event-stream.ts'
import { type MediaReply } from '../base/schemas.ts'
import { visitorOf } from './visitor.ts'

/** Whether a request prefers server-sent events to JSON, by its `Accept` header. A request that takes both equally gets JSON. */
export function wantsEvents (accept = ''): boolean {
  const qualities = new Map(accept.toLowerCase().split(',').map(each => {
    const [type = '', ...parameters] = each.split(';').map(part => part.trim())
    const quality = parameters.find(parameter => parameter.startsWith('q='))
    return [type, quality === undefined ? 1 : Number(quality.slice(2))] as const
  }))
  return (qualities.get('text/event-stream') ?? 0) > (qualities.get('application/json') ?? 0)
}

/** A call that starts or continues a session, such as a message to it, and the function that describes its result for the reply. */
export interface Visit {
  readonly enter: (visitor: Visitor) => Promise<Progress>
  readonly describe: (progress: Progress) => JsonObject
  /** Whether the call starts a session: then the reply has the status 201 and the session's address. */
  readonly isStart?: boolean
}

/**
 * Answers a request that starts or continues a session. The reply is sent when the session waits for the user again or has ended, at the
 * latest after 30 s. A request that prefers events gets the session's events as they come; the last event is `turn`, with the JSON that other
 * requests get.
 */
export async function answerVisit (door: SessionDoor, request: FastifyRequest, reply: FastifyReply, visit: Visit): Promise<FastifyReply> {
  const { enter, describe, isStart = false } = visit
  const isFollowing = wantsEvents(request.headers.accept)
  if (isFollowing) holdStream(request, reply)
  const visitor = visitorOf(request, reply, isFollowing ? 0 : undefined)
  const progress = await enter(visitor)
  if (isStart) reply.header('location', `/api/sessions/${progress.session.id}`)
  reply.code(isStart ? 201 : progress.isOpen && !isFollowing ? 202 : 200)
  if (!isFollowing) return await reply.send(describe(progress))
  const events = eventStream(door.events(() => request.callerNow(), progress, visitor.signal), { describeEnd: end => ({ event: 'turn', data: describe(end) }) })
  return await sendEvents(reply, events)
}

/** The schema of the reply of a call that starts or continues a session: JSON, or a stream of events. */
export function turnReply (schema: TSchema): MediaReply {
  return {
    description: 'What the turn came to; with `Accept: text/event-stream` its events, as they come',
    content: { 'application/json': { schema }, 'text/event-stream': { schema: EventStream } }
  }
}
