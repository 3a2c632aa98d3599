import { PassThrough, type Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { once } from 'node:events'
import { clientClosed, tooManyStreams, ServiceError } from '../base/errors.ts'
import { stringifyJson, type JsonObject } from '../base/json.ts'
import { type CallerSignal, LightSignal, timeLimit } from '../runtime/deadline.ts'
import type { CountedReply } from '../service/chat/models.ts'
import { Type } from '../schema/builder.ts'
import { eventsOf, type FeedItem, timeOf } from '../session/follow.ts'

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

/** The stream is destroyed when the client leaves. */
export function sendEvents (reply: FastifyReply, events: Readable): FastifyReply {
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

/** Byte for byte; headers give what it cost and, without a usage in it, the service's estimate. */
export function sendReply (reply: FastifyReply, { body, usage, cost }: CountedReply): FastifyReply {
  reply.header('x-cost', cost === undefined ? 'unknown' : `usd=${(cost / 1e9).toFixed(9)}`)
  if (usage.isEstimate) reply.header('x-usage-estimate', `prompt_tokens=${usage.inputTokens}, completion_tokens=${usage.outputTokens}`)
  return reply.type('application/json; charset=utf-8').send(body)
}

/** Leaves the bytes of the model's own members unchanged. */
export function withMember (reply: CountedReply, name: string, value: object): CountedReply {
  const end = reply.body.lastIndexOf('}')
  const comma = Object.keys(reply.value).length === 0 ? '' : ','
  return { ...reply, body: Buffer.concat([reply.body.subarray(0, end), Buffer.from(`${comma}${JSON.stringify(name)}:${stringifyJson(value)}}`)]) }
}

/** In ms: proxies close connections on which nothing happens. */
const HEARTBEAT = 15_000

/** How long a client may not read, in ms; then it is cut off, and continues after the last event it received. */
const PATIENCE = 30_000

export const EventStream = Type.String({
  description: 'Events of a session. `event` is its type, `id` its place, `data` JSON with `at`, the time, and: ' +
    '`stdout` {text, effect}, `message` {role, content, effect, value} or {text, isFinal}, `ask` {text, required}, `step` {step, max}, ' +
    '`input` {by, text, action}, `tool` {effect, name, tool, arguments, phase: called | ended, outcome: ok | failed | unknown | refused, durationMs}, ' +
    '`command` {phase: proposed | ended | denied, command, effect, exitCode, outcome, durationMs, reason}, `files`, `memory`, `approval`, `child` {effect, session, name, definition, status: running | completed | failed | cancelled | expired | refused, code, message}, `log` {prefix, level, text}, ' +
    '`state` {status, word}, `error` {code, message}, `done` {status}. `live` has no id and is not repeated: `type` is `llm.delta` {effect, text}, `llm.reset` {effect}, `llm.progress` {effect, elapsedMs}, `command.output` {effect, stream, text}, or `child` {effect, session, name, definition, status, path, ask: {approvals} or {word, text, seq}}, what a session below waits for; ' +
    '`turn`, the last of a turn, has what the turn answers without a stream'
})

interface StreamOptions<R> {
  /** The stream begins after this event. */
  readonly after?: EventId | undefined
  readonly describeEnd?: (end: R) => { readonly event: string, readonly data: object }
}

/** A client resumes after the last id `seq.n`; live events have no id and are not sent again. */
export function eventStream<R> (followed: AsyncGenerator<FeedItem, R>, options: StreamOptions<R> = {}): PassThrough {
  const stream = new PassThrough({ highWaterMark: FREE_UNREAD })
  const heartbeat = setInterval(() => { if (!stream.writableNeedDrain) stream.write(': still here\n\n') }, HEARTBEAT)
  heartbeat.unref()
  const closing = new AbortController()
  stream.once('close', () => {
    clearInterval(heartbeat)
    closing.abort()
    void followed.return(undefined as R).catch(() => {})
  })
  void write(stream, followed, options, closing.signal).catch((error: unknown) => {
    if (!stream.destroyed) stream.end(eventText('error', reasonOf(error)))
  })
  return stream
}

async function write<R> (stream: PassThrough, followed: AsyncGenerator<FeedItem, R>, options: StreamOptions<R>, closed: AbortSignal): Promise<void> {
  const { after, describeEnd } = options
  for (;;) {
    const next = await followed.next()
    if (stream.destroyed) return
    if (next.done === true) {
      const end = describeEnd?.(next.value)
      stream.end(end === undefined ? undefined : eventText(end.event, end.data))
      return
    }
    for (const event of textsOf(next.value, after)) {
      if (stream.destroyed || (!stream.write(event) && !await isDrained(stream, closed))) {
        stream.destroy()
        return
      }
    }
  }
}

/** @returns false when the client takes longer than `PATIENCE`, or all clients together leave too much unread */
async function isDrained (stream: PassThrough, closed: AbortSignal): Promise<boolean> {
  const release = holdUnread(stream.writableLength)
  if (release === undefined) return false
  try {
    await once(stream, 'drain', { signal: timeLimit(closed, PATIENCE) })
    return true
  } catch {
    return false
  } finally {
    release()
  }
}

function * textsOf (followed: FeedItem, after: EventId | undefined): Generator<string> {
  if ('live' in followed) {
    yield eventText('live', { ...followed.live, at: timeOf(Date.now()) })
    return
  }
  const { seq } = followed.transition
  for (const [n, { type, data }] of eventsOf(followed.transition).entries()) {
    if (after !== undefined && seq === after.seq && n <= after.n) continue
    yield `id: ${seq}.${n}\n${eventText(type, data)}`
  }
}

export function eventText (event: string, data: object): string {
  return `event: ${event}\ndata: ${stringifyJson(data)}\n\n`
}

/** An unexpected error shows no details. */
function reasonOf (error: unknown): JsonObject {
  const { code, message } = error instanceof ServiceError ? error : { code: 'INTERNAL', message: 'The stream ended unexpectedly; continue after its last id' }
  return { code, message, at: timeOf(Date.now()) }
}

interface EventId {
  readonly seq: number
  readonly n: number
}

/** @returns `undefined` for a text that is no id of an event */
export function parseEventId (text: string | undefined): EventId | undefined {
  const [, seq, n] = /^([1-9]\d{0,8})\.(\d{1,9})$/.exec(text ?? '') ?? []
  return seq === undefined ? undefined : { seq: Number(seq), n: Number(n) }
}
