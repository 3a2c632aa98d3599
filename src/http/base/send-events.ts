import { type PassThrough } from 'node:stream'
import { type FastifyReply } from 'fastify'

/** The headers of a stream of events. The last one tells nginx and similar proxies to pass each event on at once. */
const EVENT_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' } as const

/** Answers with a stream of server-sent events, and passes on each event as it comes. */
export function sendEvents (reply: FastifyReply, events: PassThrough): FastifyReply {
  return reply.headers(EVENT_HEADERS).serializer(String).send(events)
}
