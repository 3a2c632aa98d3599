import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { ServiceError } from '../base/errors.ts'
import { type JsonObject, stringifyJson } from '../base/json.ts'
import { Type } from '../base/schema-builder.ts'
import { timeLimit } from '../runtime/deadline.ts'
import { eventsOf, type Followed, timeOf } from '../session/follow.ts'
import { FREE_UNREAD, holdUnread } from './send-reply.ts'

/** How often a stream sends a comment, in ms. Proxies close connections on which nothing happens. */
const HEARTBEAT = 15_000

/**
 * How long the service waits for a client that does not read its stream, in ms. Then it closes the stream; the client can connect again and
 * continue with the event after the last one that it received.
 */
const PATIENCE = 30_000

/** The schema of a stream of a session's events. */
export const EventStream = Type.String({
  description: 'Events of a session. `event` is its type, `id` its place, `data` JSON with `at`, the time, and: ' +
    '`stdout` {text, effect}, `message` {role, content, effect, value} or {text, isFinal}, `ask` {text, required}, `step` {step, max}, ' +
    '`input` {by, text, action}, `tool` {effect, name, tool, arguments, phase: called | ended, outcome: ok | failed | unknown | refused, durationMs}, ' +
    '`command` {phase: proposed | ended | denied, command, effect, exitCode, outcome, durationMs, reason}, `files`, `memory`, `approval`, `child` {effect, session, name, definition, status: running | completed | failed | cancelled | expired | refused, code, message}, `log` {prefix, level, text}, ' +
    '`state` {status, word}, `error` {code, message}, `done` {status}. `live` has no id and is not repeated: `type` is `llm.delta` {effect, text}, `llm.reset` {effect}, `llm.progress` {effect, elapsedMs}, `command.output` {effect, stream, text}, or `child` {effect, session, name, definition, status, path, ask: {approvals} or {word, text, seq}}, what a session below waits for; ' +
    '`turn`, the last of a turn, has what the turn answers without a stream'
})

export interface StreamOptions<R> {
  /** The id of the last event that the client already has: the stream begins after it. When left out, the stream skips no event. */
  readonly after?: EventId | undefined
  /** Makes the last event of the stream from the value that the generator of the events returns at its end. */
  readonly describeEnd?: (end: R) => { readonly event: string, readonly data: JsonObject }
}

/**
 * Turns the transitions (recorded steps) of a session into server-sent events. Each event has a type, and an id `seq.n`: the number of the
 * transition, and the place of the event in it. A client that connects again can continue with the event after the last id that it
 * received. Live events have no id and are not sent again. If the session cannot be read any further, the last event is `error`.
 */
export function eventStream<R> (followed: AsyncGenerator<Followed, R>, options: StreamOptions<R> = {}): PassThrough {
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

async function write<R> (stream: PassThrough, followed: AsyncGenerator<Followed, R>, options: StreamOptions<R>, closed: AbortSignal): Promise<void> {
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

/**
 * Waits until the client has read what it was sent.
 * @returns false when the client takes longer than `PATIENCE`, or when all clients together leave too many bytes unread
 */
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

function * textsOf (followed: Followed, after: EventId | undefined): Generator<string> {
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

function eventText (event: string, data: JsonObject): string {
  return `event: ${event}\ndata: ${stringifyJson(data)}\n\n`
}

/** The code and the message of an error for the reader of a stream. An unexpected error shows no details. */
function reasonOf (error: unknown): JsonObject {
  const { code, message } = error instanceof ServiceError ? error : { code: 'INTERNAL', message: 'The stream ended unexpectedly; continue after its last id' }
  return { code, message, at: timeOf(Date.now()) }
}

/**
 * The place of an event in its session: the number of its transition (a recorded step of the session), and its place among the events of that
 * transition.
 */
export interface EventId {
  readonly seq: number
  readonly n: number
}

/** Reads `Last-Event-ID`. @returns `undefined` for a text that is no id of an event */
export function parseEventId (text: string | undefined): EventId | undefined {
  const [, seq, n] = /^([1-9]\d{0,8})\.(\d{1,9})$/.exec(text ?? '') ?? []
  return seq === undefined ? undefined : { seq: Number(seq), n: Number(n) }
}
