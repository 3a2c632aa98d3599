import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { ServiceError } from '../base/errors.ts'
import { stringifyJson } from '../base/json.ts'
import { type Followed } from '../session/follow.ts'
import { FREE_UNREAD, holdUnread } from './unread.ts'

/** A comment is sent so often, in ms, so that nothing between takes the connection for dead. */
const HEARTBEAT = 15_000

/** How long a reader that has not read what it was sent is waited for, in ms; then it is cut off, and comes back by the id of its last event. */
const PATIENCE = 30_000

/**
 * A session as server-sent events: a notice is an event with its type, and the id `seq.n` by which a reader comes back;
 * what is said live has no id and is not repeated. A stream that cannot go on ends with an event `error` without an id.
 * @param after id of the last event that the reader has; `undefined` for all
 */
export function eventStream (followed: AsyncGenerator<Followed>, after: EventId | undefined): PassThrough {
  const stream = new PassThrough({ highWaterMark: FREE_UNREAD })
  const heartbeat = setInterval(() => { if (!stream.writableNeedDrain) stream.write(': still here\n\n') }, HEARTBEAT)
  heartbeat.unref()
  const closing = new AbortController()
  stream.once('close', () => {
    clearInterval(heartbeat)
    closing.abort()
    void followed.return(undefined)
  })
  void write(stream, followed, after, closing.signal).catch((error: unknown) => { stream.destroy(error as Error) })
  return stream
}

async function write (stream: PassThrough, followed: AsyncGenerator<Followed>, after: EventId | undefined, closed: AbortSignal): Promise<void> {
  try {
    for await (const event of allEvents(followed, after)) {
      if (stream.destroyed || (!stream.write(event) && !await isDrained(stream, closed))) {
        stream.destroy()
        return
      }
    }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    stream.write(`event: error\ndata: ${stringifyJson({ code: error.code, message: error.message })}\n\n`)
  }
  stream.end()
}

/** Waits until a reader has read what it was sent; false when it takes too long, or too much waits for others. */
async function isDrained (stream: PassThrough, closed: AbortSignal): Promise<boolean> {
  const release = holdUnread(stream.writableLength)
  if (release === undefined) return false
  try {
    await once(stream, 'drain', { signal: AbortSignal.any([closed, AbortSignal.timeout(PATIENCE)]) })
    return true
  } catch {
    return false
  } finally {
    release()
  }
}

async function * allEvents (followed: AsyncGenerator<Followed>, after: EventId | undefined): AsyncGenerator<string> {
  for await (const each of followed) yield * eventsOf(each, after)
}

function * eventsOf (followed: Followed, after: EventId | undefined): Generator<string> {
  if ('live' in followed) {
    yield `event: live\ndata: ${stringifyJson(followed.live)}\n\n`
    return
  }
  const { seq, notices } = followed.transition
  for (const [n, { type, data }] of notices.entries()) {
    if (after !== undefined && seq === after.seq && n <= after.n) continue
    yield `id: ${seq}.${n}\nevent: ${type}\ndata: ${stringifyJson(data)}\n\n`
  }
}

/** The place of an event in its session. */
export interface EventId {
  readonly seq: number
  readonly n: number
}

/** Reads `Last-Event-ID`; `undefined` for one that is none of ours. */
export function parseEventId (text: string | undefined): EventId | undefined {
  const [, seq, n] = /^([1-9]\d{0,8})\.(\d{1,9})$/.exec(text ?? '') ?? []
  return seq === undefined ? undefined : { seq: Number(seq), n: Number(n) }
}
