import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { ServiceError } from '../base/errors.ts'
import { type JsonObject, stringifyJson } from '../base/json.ts'
import { Type } from '../schema/builder.ts'
import { timeLimit } from '../runtime/deadline.ts'
import { eventsOf, type FeedItem, timeOf } from '../session/follow.ts'
import { FREE_UNREAD, holdUnread } from './send-reply.ts'

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
