import { type PassThrough } from 'node:stream'
import { type FastifyReply, type FastifyRequest } from 'fastify'
import { tooManyStreams } from '../../base/errors.ts'

/** The headers of a stream of events. The last one tells nginx and similar proxies to pass each event on at once. */
const EVENT_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' } as const

/** The most event streams that one token may have open at a time. */
const MAX_OF_TOKEN = 64

/** The number of open event streams, by the name of their token. */
const open = new Map<string, number>()

/**
 * Counts an event stream of the caller's token until its reply has ended. A route calls this before anything else, so that nothing has happened
 * when there is no room. Callers without a token are not counted: they are many under one name.
 * @throws TOO_MANY_STREAMS
 */
export function holdStream ({ caller: { name } }: Pick<FastifyRequest, 'caller'>, reply: FastifyReply): void {
  if (name === '') return
  const count = open.get(name) ?? 0
  if (count >= MAX_OF_TOKEN) throw tooManyStreams(`one token may have ${MAX_OF_TOKEN}`)
  open.set(name, count + 1)
  reply.raw.once('close', () => {
    const left = (open.get(name) ?? 1) - 1
    if (left === 0) open.delete(name)
    else open.set(name, left)
  })
}

/** Answers with a stream of server-sent events, and passes on each event as it comes. */
export function sendEvents (reply: FastifyReply, events: PassThrough): FastifyReply {
  return reply.headers(EVENT_HEADERS).serializer(String).send(events)
}
