import { PassThrough } from 'node:stream'
import { stringifyJson } from '../base/json.ts'
import { type Followed } from '../session/follow.ts'

/** A comment is sent so often, in ms, so that nothing between takes the connection for dead. */
const HEARTBEAT = 15_000

/** A reader that is so many bytes behind is cut off; it comes back by the id of its last event. */
const MAX_BEHIND = 1024 * 1024

/**
 * A session as server-sent events: a notice is an event with its type, and the id `seq.n` by which a reader comes back;
 * what is said live has no id and is not repeated.
 * @param after id of the last event that the reader has; `undefined` for all
 */
export function eventStream (followed: AsyncGenerator<Followed>, after: EventId | undefined): PassThrough {
  const stream = new PassThrough({ highWaterMark: MAX_BEHIND })
  const heartbeat = setInterval(() => { stream.write(': still here\n\n') }, HEARTBEAT)
  heartbeat.unref()
  stream.once('close', () => {
    clearInterval(heartbeat)
    void followed.return(undefined)
  })
  void write(stream, followed, after).catch((error: unknown) => { stream.destroy(error as Error) })
  return stream
}

async function write (stream: PassThrough, followed: AsyncGenerator<Followed>, after: EventId | undefined): Promise<void> {
  for await (const each of followed) {
    for (const event of eventsOf(each, after)) {
      if (stream.destroyed || !stream.write(event)) {
        stream.destroy()
        return
      }
    }
  }
  stream.end()
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
