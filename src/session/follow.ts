import { type JsonObject } from '../base/json.ts'
import { ENDED, type Transition } from './model.ts'
import { readShown } from './read-log.ts'
import { type SessionStore } from './session-store.ts'

/** How often the log is read without a message about a new append, in ms: such messages may be lost. */
const LOOK = 5000

/** How many live messages wait for a slow reader, and their largest total length in UTF-16 units. Further messages are dropped. */
const [MAX_LIVE, MAX_LIVE_LENGTH] = [1000, 256 * 1024]

/** A live message: it was published to followers, and is not stored. */
interface Said {
  readonly words: JsonObject
  /** The number of the last append that was heard of before this message; `undefined` before the log was read. */
  readonly behind: number | undefined
}

/** An item for a follower of a session: a transition, or a live message. */
export type Followed = { readonly transition: Transition } | { readonly live: JsonObject }

/**
 * Follows a session from a transition on: first the transitions in its log, then each new one from any replica, each once and in
 * order, with live messages between them. Ends with the session, or with the signal.
 * @param after number of the last transition that the reader has; 0 for all
 * @param greet gives live messages that were published before the reader came; called once, after the transitions in the log
 */
export async function * followSession (
  store: SessionStore,
  id: string,
  after: number,
  signal: AbortSignal,
  greet: () => Promise<readonly JsonObject[]> = async () => []
): AsyncGenerator<Followed> {
  const live: Said[] = []
  let wake = (): void => {}
  // Words alone are no reason to read the log, which may be a round trip for each part of each answer.
  let isUnread = true
  const look = (): void => {
    isUnread = true
    wake()
  }
  // Nobody knows behind which transition something is that is heard while the log is first read: it goes behind all.
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
      // Made before the log is read: what is added meanwhile is not waited for.
      const more = new Promise<void>(resolve => { wake = resolve })
      const isDue = isUnread
      isUnread = false
      for await (const transition of isDue ? readShown(store, id, last) : []) {
        // What a command has printed goes before the word that it has ended, however late the log is read.
        yield * saidUpTo(live, transition.seq - 1)
        last = transition.seq
        // Behind its end may stand what was ended with it.
        isOver ||= endsSession(transition)
        yield { transition }
      }
      yield * saidUpTo(live, last, true)
      appended ??= last
      // A reader who has the end of a session is told nothing of it by what comes behind.
      if (isFirst) isOver ||= await hasEnded(store, id, last)
      if (isFirst && !isOver) yield * (await greet()).map(words => ({ live: words }))
      // It may have aborted while the log was read, of which nobody is told any more.
      if (!isOver && !signal.aborted) await more
    }
  } finally {
    clearInterval(looking)
    signal.removeEventListener('abort', look)
    stop()
  }
}

/** The approximate length of a live message, in UTF-16 units: only its text can be long. */
function lengthOf ({ text }: JsonObject): number {
  return typeof text === 'string' ? text.length : 0
}

/** Removes and yields the live messages that belong before any append with a number above `seq`. */
function * saidUpTo (live: Said[], seq: number, isAll = false): Generator<Followed> {
  for (let [next] = live; next !== undefined && (next.behind === undefined ? isAll : next.behind <= seq); [next] = live) {
    live.shift()
    yield { live: next.words }
  }
}

async function hasEnded (store: SessionStore, id: string, last: number): Promise<boolean> {
  const head = await store.head(id)
  return head !== undefined && head.seq <= last && ENDED.has(head.status)
}

function endsSession ({ notices }: Transition): boolean {
  return notices.some(({ type }) => type === 'done')
}
