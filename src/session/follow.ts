import type { Json, JsonObject } from '../base/json.ts'
import { ENDED, type Notice, type Start, type LogEntry } from './model.ts'
import { readShown } from './session-log.ts'
import type { SessionStore } from './store/session-store.ts'

/** The interval at which a follower reads the log even if no message tells of a new entry, in ms: such messages may be lost. */
const LOOK = 5000

/** The largest number of live messages that wait for a slow reader, and their largest total length in UTF-16 units. Further messages are dropped. */
const [MAX_LIVE, MAX_LIVE_LENGTH] = [1000, 256 * 1024]

/** A live message (it was published to followers, and is not stored in the log) that waits until the follower reads it. */
interface LiveMessage {
  readonly words: JsonObject
  /**
   * The number of the newest log entry that the follower knew of when this message came, from the store's announcement or from the first reading of
   * the log; `undefined` when the follower knew of none.
   */
  readonly behind: number | undefined
}

/** An item for a follower of a session: a transition (an entry of the log), or a live message. */
export type FeedItem = { readonly transition: LogEntry } | { readonly live: JsonObject }

/**
 * Follows a session from a transition (log entry) on: yields the transitions in its log, then each new one from any replica, each once and in
 * order, with live messages between them. Ends with the session, or when the signal aborts.
 * @param after number of the last transition that the follower has; 0 for all
 * @param greet gives live messages that were published before the follower came; called once, after the transitions in the log
 */
export async function * followSession (
  store: SessionStore,
  id: string,
  after: number,
  signal: AbortSignal,
  greet: () => Promise<readonly JsonObject[]> = async () => []
): AsyncGenerator<FeedItem> {
  const live: LiveMessage[] = []
  let wake = (): void => {}
  // Live messages alone are no reason to read the log: that would be a request to the store for each part of each model answer.
  let isUnread = true
  const look = (): void => {
    isUnread = true
    wake()
  }
  // The number of the last announced transition is not known while the log is read for the first time. Live messages of that time are yielded
  // after all transitions of that reading.
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
      // The promise is made before the log is read, so that a message that comes meanwhile wakes the loop.
      const more = new Promise<void>(resolve => { wake = resolve })
      const isDue = isUnread
      isUnread = false
      for await (const transition of isDue ? readShown(store, id, last) : []) {
        // A live message, such as the output of a command, is yielded before the transition which says that the command has ended, however late the
        // log is read.
        yield * saidUpTo(live, transition.seq - 1)
        last = transition.seq
        // The transition that ends a session may be followed by others, about effects that were aborted with the session.
        isOver ||= endsSession(transition)
        yield { transition }
      }
      yield * saidUpTo(live, last, true)
      appended ??= last
      // The session has perhaps ended in a transition that the follower has already. No later transition says that again, so the session's head (its
      // summary in the store) is asked.
      if (isFirst) isOver ||= await hasEnded(store, id, last)
      if (isFirst && !isOver) yield * (await greet()).map(words => ({ live: words }))
      // The signal may have aborted while the log was read: then there is nothing to wait for.
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

/**
 * Yields, and removes from `live`, the live messages that were published before the transition with the number `seq + 1`.
 * @param isAll whether to yield also messages of which nobody knows between which transitions they were published
 */
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

/** An event for the followers of a session: a notice from the session's log, or an input of its user. */
export interface SessionEvent {
  readonly type: Notice['type'] | 'input'
  readonly data: JsonObject
}

/**
 * The events that followers get for a transition (an entry of the session's log), in order. Each holds the time of the transition. Clients know
 * the n-th event, counted from 0, by the transition's number and n.
 */
export function eventsOf ({ at, fact, notices }: LogEntry): SessionEvent[] {
  const time = timeOf(at)
  const said = inputOf(fact)
  return [...said === undefined ? [] : [{ type: 'input' as const, data: said }], ...notices].map(({ type, data }) => ({ type, data: { ...data, at: time } }))
}

/** Formats a time from a session's log for clients, as ISO 8601. @param at in ms since 1970 */
export function timeOf (at: number): string {
  return new Date(at).toISOString()
}

/**
 * The user's input that a fact holds; `undefined` for a fact without one. The engine writes no notice for an input, since the log holds
 * it in the fact already.
 */
function inputOf (fact: LogEntry['fact']): JsonObject | undefined {
  if (fact.kind === 'input') return { by: fact.by, text: fact.text, ...(fact.action === undefined ? {} : { action: fact.action.name }) }
  if (fact.kind !== 'started') return undefined
  const text = wordsOf(fact.start)
  return text === '' ? undefined : { by: fact.start.owner, text }
}

/** The user's text at the start of a session: the goal of a plan, or the prompt that the user added to a skill. */
function wordsOf ({ input, setting }: Start): string {
  const skill = memberOf(setting, 'skill')
  return [memberOf(input, 'goal'), memberOf(skill, 'prompt')].find(text => typeof text === 'string') as string | undefined ?? ''
}

function memberOf (value: Json | undefined, name: string): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, name) ? (value as JsonObject)[name] : undefined
}
