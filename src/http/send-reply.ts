import type { PassThrough } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientClosed, tooManyStreams } from '../base/errors.ts'
import { stringifyJson } from '../base/json.ts'
import { type CallerSignal, LightSignal } from '../runtime/deadline.ts'
import type { ChatStream } from '../service/chat/chat-with-prompt.ts'
import type { CountedReply } from '../service/chat/models.ts'

/** In bytes, of all followers together; a client without room is cut off, and continues after the last event it received. */
const MOST_UNREAD = 64 * 1024 * 1024

/** An estimate of the memory that a slow client takes beside its unread bytes, in bytes: a part of the session's log is kept for this client. */
const OWN_BYTES = 64 * 1024

/** Unread bytes of one client that do not count towards the common limit. */
export const FREE_UNREAD = 64 * 1024

let held = 0

/** @returns ends the reservation, and may be called twice; `undefined` when there is no room: the caller must cut the client off */
export function holdUnread (bytes: number): (() => void) | undefined {
  const share = bytes + OWN_BYTES
  if (held + share > MOST_UNREAD) return undefined
  held += share
  let isHeld = true
  return () => {
    if (isHeld) held -= share
    isHeld = false
  }
}

/** `x-accel-buffering` tells nginx and similar proxies to pass each event on at once. */
const EVENT_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' } as const

const MAX_OF_TOKEN = 64

const open = new Map<string, number>()

/** Call before anything else, so that nothing happened when there is no room; not for callers without a token. @throws TOO_MANY_STREAMS */
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

export function sendEvents (reply: FastifyReply, events: PassThrough): FastifyReply {
  return reply.headers(EVENT_HEADERS).serializer(String).send(events)
}

export function abortWhenGone (reply: FastifyReply): CallerSignal {
  const signal = new LightSignal()
  // The client may have left while its body waited to be parsed.
  if (reply.raw.destroyed) signal.abort(clientClosed())
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) signal.abort(clientClosed())
  })
  return signal
}

/** Byte for byte; without a usage in it, a header gives the service's estimate. */
export function sendReply (reply: FastifyReply, { body, usage }: CountedReply): FastifyReply {
  if (usage.isEstimate) reply.header('x-usage-estimate', `prompt_tokens=${usage.inputTokens}, completion_tokens=${usage.outputTokens}`)
  return reply.type('application/json; charset=utf-8').send(body)
}

/** Leaves the bytes of the model's own members unchanged. */
export function withMember (reply: CountedReply, name: string, value: object): CountedReply {
  const end = reply.body.lastIndexOf('}')
  const comma = Object.keys(reply.value).length === 0 ? '' : ','
  return { ...reply, body: Buffer.concat([reply.body.subarray(0, end), Buffer.from(`${comma}${JSON.stringify(name)}:${stringifyJson(value)}}`)]) }
}

/** The stream is destroyed when the client leaves. */
export function sendStream (reply: FastifyReply, { events }: ChatStream): FastifyReply {
  return reply.headers({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    // Tells nginx and similar proxies to pass each event on at once.
    'x-accel-buffering': 'no'
  }).send(events)
}
