import { type FastifyReply } from 'fastify'
import { type JsonObject } from '../../base/json.ts'
import { type TSchema } from '../../base/schema-builder.ts'
import { type Followed } from '../../session/follow.ts'
import { type Turn } from '../../service/sessions/turn.ts'
import { EventStream, eventStream, sendEvents } from './event-stream.ts'
import { type MediaReply } from '../openapi/schemas.ts'

/** Whether a caller rather has events than JSON, by its `Accept`; one that takes both alike has JSON. */
export function wantsEvents (accept = ''): boolean {
  const qualities = new Map(accept.toLowerCase().split(',').map(each => {
    const [type = '', ...parameters] = each.split(';').map(part => part.trim())
    const quality = parameters.find(parameter => parameter.startsWith('q='))
    return [type, quality === undefined ? 1 : Number(quality.slice(2))] as const
  }))
  return (qualities.get('text/event-stream') ?? 0) > (qualities.get('application/json') ?? 0)
}

/** Answers with the events of a turn as they come, and last with what the turn would have answered, as the event `turn`. */
export function sendTurn (reply: FastifyReply, events: AsyncGenerator<Followed, Turn>, describe: (turn: Turn) => JsonObject): FastifyReply {
  return sendEvents(reply, eventStream(events, { describeEnd: turn => ({ event: 'turn', data: describe(turn) }) }))
}

/** The reply of a turn: at once, or as it comes. */
export function turnReply (schema: TSchema): MediaReply {
  return { description: 'What the turn came to; with `Accept: text/event-stream` its events, as they come', content: { 'application/json': { schema }, 'text/event-stream': { schema: EventStream } } }
}
