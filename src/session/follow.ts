import { type JsonObject, textOf } from '../base/json.ts'
import { ENDED, type Notice, type LogEntry } from './model.ts'
import { wordsOf } from './session.ts'
import { readShown } from './session-log.ts'
import type { SessionStore } from './store/session-store.ts'

/** How often a follower reads the log without a message, in ms: messages may be lost. */
const LOOK = 5000

/** How many live messages wait for a slow reader, and their UTF-16 units. Further ones are dropped. */
const [MAX_LIVE, MAX_LIVE_LENGTH] = [1000, 256 * 1024]

interface LiveMessage {
  readonly words: JsonObject
  /** The newest log entry that the follower knew of when this message came. */
  readonly behind: number | undefined
}

export type FeedItem = { readonly transition: LogEntry } | { readonly live: JsonObject }

/** Yields each log entry once and in order, from any replica, with live messages between. Ends with the session. */
export async function * followSession (
  store: SessionStore,
  id: string,
  after: number,
  signal: AbortSignal,
  greet: () => Promise<readonly JsonObject[]> = async () => []
): AsyncGenerator<FeedItem> {
  const live: LiveMessage[] = []
  let wake = (): void => {}
  // For live messages alone the log is not read: that would be a request for each part of an answer.
  let isUnread = true
  const look = (): void => {
    isUnread = true
    wake()
  }
  // Unknown during the first reading: live messages of that time come after all its log entries.
  let appended: number | undefined
  const stop = await store.watch(id, {
    onAppend (seq) {
      appended = seq
      look()
    },
    onGap: look,
    onLive (words) {
      const length = live.reduce((sum, said) => sum + lengthOf(said.words), lengthOf(words))
      if (live.length < MAX_LIVE && length <= MAX_LIVE_LENGTH) live.push({ words, behind: appended })
      wake()
    }
  })
  const looking = setInterval(look, LOOK)
  looking.unref()
  signal.addEventListener('abort', look)
  try {
    for (let last = after, isOver = false, isFirst = true; !isOver && !signal.aborted; isFirst = false) {
      // Made before the log is read, so that a message that comes meanwhile wakes the loop.
      const more = new Promise<void>(resolve => { wake = resolve })
      const isDue = isUnread
      isUnread = false
      for await (const transition of isDue ? readShown(store, id, last) : []) {
        // A command's live output comes before the log entry with the command's end, however late the log is read.
        yield * saidUpTo(live, transition.seq - 1)
        last = transition.seq
        // After the end others may follow, about effects that were aborted with the session.
        isOver ||= endsSession(transition)
        yield { transition }
      }
      yield * saidUpTo(live, last, true)
      appended ??= last
      // The follower may have the ending entry already, and no later one repeats it.
      if (isFirst) isOver ||= await hasEnded(store, id, last)
      if (isFirst && !isOver) yield * (await greet()).map(words => ({ live: words }))
      // The signal may have aborted while the log was read.
      if (!isOver && !signal.aborted) await more
    }
  } finally {
    clearInterval(looking)
    signal.removeEventListener('abort', look)
    stop()
  }
}

/** Only the text can be long. */
function lengthOf ({ text }: JsonObject): number {
  return textOf(text).length
}

/** Yields and removes what was published before log entry `seq + 1`. @param isAll also messages of unknown place */
function * saidUpTo (live: LiveMessage[], seq: number, isAll = false): Generator<FeedItem> {
  for (let [next] = live; next !== undefined && (next.behind === undefined ? isAll : next.behind <= seq); [next] = live) {
    live.shift()
    yield { live: next.words }
  }
}

async function hasEnded (store: SessionStore, id: string, last: number): Promise<boolean> {
  const head = await store.head(id)
  return head !== undefined && head.seq <= last && ENDED.has(head.status)
}

function endsSession ({ notices }: LogEntry): boolean {
  return notices.some(({ type }) => type === 'done')
}

export interface SessionEvent {
  readonly type: Notice['type'] | 'input'
  readonly data: JsonObject
}

/** Clients know the n-th event, from 0, by the log entry's number and n. */
export function eventsOf ({ at, fact, notices }: LogEntry): SessionEvent[] {
  const time = timeOf(at)
  const said = inputOf(fact)
  return [...said === undefined ? [] : [{ type: 'input' as const, data: said }], ...notices].map(({ type, data }) => ({ type, data: { ...data, at: time } }))
}

export function timeOf (at: number): string {
  return new Date(at).toISOString()
}

/** Engines write no notice for an input, since the fact holds it. */
function inputOf (fact: LogEntry['fact']): JsonObject | undefined {
  if (fact.kind === 'input') return { by: fact.by, text: fact.text, ...(fact.action === undefined ? {} : { action: fact.action.name }) }
  if (fact.kind !== 'started') return undefined
  const text = wordsOf(fact.start)
  return text === '' ? undefined : { by: fact.start.owner, text }
}
