import { type FastifyReply } from 'fastify'
import { stringifyJson } from '../../base/json.ts'
import { type ChatStream } from '../../service/chat/chat-stream.ts'
import { type CountedReply } from '../../service/chat/counted-models.ts'

/** Answers with a model's whole reply, byte for byte. When the reply has no usage, a header gives the service's estimate. */
export function sendReply (reply: FastifyReply, { body, usage }: CountedReply): FastifyReply {
  if (usage.isEstimate) reply.header('x-usage-estimate', `prompt_tokens=${usage.inputTokens}, completion_tokens=${usage.outputTokens}`)
  return reply.type('application/json; charset=utf-8').send(body)
}

/** Adds a member at the end of a model's reply (a JSON object), and leaves the bytes of the model's own members unchanged. */
export function withMember (reply: CountedReply, name: string, value: object): CountedReply {
  const end = reply.body.lastIndexOf('}')
  const comma = Object.keys(reply.value).length === 0 ? '' : ','
  return { ...reply, body: Buffer.concat([reply.body.subarray(0, end), Buffer.from(`${comma}${JSON.stringify(name)}:${stringifyJson(value)}}`)]) }
}

/** Answers with a stream, each event as it comes. The stream is destroyed when the client leaves. */
export function sendStream (reply: FastifyReply, { events }: ChatStream): FastifyReply {
  return reply.headers({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    // Tells nginx and similar proxies to pass each event on at once.
    'x-accel-buffering': 'no'
  }).send(events)
}
