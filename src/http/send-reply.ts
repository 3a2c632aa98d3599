import type { PassThrough } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientClosed, tooManyStreams } from '../base/errors.ts'
import { stringifyJson } from '../base/json.ts'
import { type CallerSignal, LightSignal } from '../runtime/deadline.ts'
import type { ChatStream } from '../service/chat/chat-with-prompt.ts'
import type { CountedReply } from '../service/chat/models.ts'

/**
 * The most bytes that all clients that follow sessions, by event streams or WebSockets, may leave unread together. A client for which there
 * is no room left is disconnected; it connects again and continues with the event after the last one that it received.
 */
const MOST_UNREAD = 64 * 1024 * 1024

/** An estimate of the memory that a slow client takes beside its unread bytes, in bytes: a part of the session's log is kept for this client. */
const OWN_BYTES = 64 * 1024

/** The most unread bytes of one client that do not yet count towards the limit for all clients together. */
export const FREE_UNREAD = 64 * 1024

let held = 0

/**
 * Reserves room for the unread bytes of one client, within the limit for all clients.
 * @param bytes how many bytes wait for the client
 * @returns a function that ends the reservation, and may be called more than once; `undefined` when there is no room: then the caller must
 * disconnect the client
 */
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

/** A signal that aborts when the client leaves before its reply is complete. */
export function abortWhenGone (reply: FastifyReply): CallerSignal {
  const signal = new LightSignal()
  // A client that left while its body waited to be parsed has closed its connection already.
  if (reply.raw.destroyed) signal.abort(clientClosed())
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) signal.abort(clientClosed())
  })
  return signal
}

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
