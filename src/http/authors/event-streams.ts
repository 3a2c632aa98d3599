import { PassThrough } from 'node:stream'
import { type Caller, seesEverything } from '../../access/caller.ts'
import { visibleGeneration } from '../../access/generation-view.ts'
import { refusalBy, type RightsWatch } from '../../access/rights-watch.ts'
import { isVisibleEntry, isVisibleKey } from '../../access/visible-key.ts'
import { tooManyStreams } from '../../base/errors.ts'
import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { type Registry } from '../../registry/registry.ts'
import { keyToPath, kindPrefix } from '../../store/keys.ts'
import { ChangeFeed, type Changes } from './change-feed.ts'

/** The most streams of changes that may be open at a time, of all callers together: each change is looked at for each of them. */
const MAX_IN_ALL = 1000

/** How often each stream gets a comment line, which only shows that the stream is alive, in ms. */
const HEARTBEAT = 15_000

/**
 * The most bytes that a client may leave unread. When there are more, the service closes the stream; the client connects again and loads
 * its lists anew.
 */
const MAX_UNREAD = 64 * 1024

/** The most ids that one event names. When more entries have changed, the event says how many more, and clients load whole lists again. */
const MAX_IDS = 500

/** The word in an event's `kinds` that says that the problems of some entries have changed. The other words are kinds, such as `prompts`. */
const PROBLEMS = 'problems'

interface Follower {
  readonly stream: PassThrough
  /** Looks up the caller's token again, and gives the caller with the rights that the token has now. @throws TOKEN_UNKNOWN, ROLE_MISSING */
  callerNow (): Caller
}

/**
 * All open streams that tell clients which entries have changed. Their number is limited, and a stream ends when the token of its client no
 * longer allows it.
 */
export class EventStreams {
  readonly #registry: Registry
  readonly #keyPrefix: string
  readonly #rights: RightsWatch
  readonly #feed: ChangeFeed
  readonly #followers = new Set<Follower>()
  #timer: NodeJS.Timeout | undefined
  #unfollow: (() => void) | undefined

  constructor (registry: Registry, keyPrefix: string, rights: RightsWatch) {
    this.#registry = registry
    this.#keyPrefix = keyPrefix
    this.#rights = rights
    this.#feed = new ChangeFeed(registry)
  }

  /**
   * Opens a stream for a client, which ends when the client's token loses the right to follow changes.
   * @throws TOO_MANY_STREAMS
   */
  open (callerNow: () => Caller): PassThrough {
    if (this.#followers.size >= MAX_IN_ALL) throw tooManyStreams(`all callers together may have ${MAX_IN_ALL} of changes`)
    const stream = new PassThrough()
    const follower = { stream, callerNow }
    this.#followers.add(follower)
    const leave = this.#rights.watch(() => refusalBy(callerNow), ({ code, message }) => { stream.end(eventText('error', { code, message })) })
    stream.once('close', () => {
      leave()
      this.#remove(follower)
    })
    // The client gets the headers only with the first byte of the body.
    stream.write(': changes follow\n\n')
    this.#unfollow ??= this.#feed.follow(changes => { for (const each of this.#followers) this.#tell(each, changes) })
    this.#timer ??= setInterval(() => { for (const each of this.#followers) write(each, ': still here\n\n') }, HEARTBEAT).unref()
    return stream
  }

  /** Ends all streams, so that the service can stop. */
  close (): void {
    for (const { stream } of this.#followers) stream.end()
  }

  #remove (follower: Follower): void {
    this.#followers.delete(follower)
    if (this.#followers.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#unfollow?.()
    this.#unfollow = undefined
  }

  #tell (follower: Follower, changes: Changes): void {
    if (refusalBy(follower.callerNow) !== undefined) return
    const seen = this.#seenBy(follower.callerNow(), changes)
    if (seen !== undefined) write(follower, eventText('changed', seen))
  }

  /** The event that tells a caller of changes, with only the entries that are visible to that caller; `undefined` when no such entry has changed. */
  #seenBy (caller: Caller, { before, after, entries, problems }: Changes): JsonObject | undefined {
    const [old, now] = [visibleGeneration(before, caller), visibleGeneration(after, caller)]
    const { prompts, environs, runs } = caller
    const known = { keyPrefix: this.#keyPrefix, kinds: this.#registry.kinds }
    const changed = entries.filter(({ kind, id }) => [old, now].some(({ extensions }) => isVisibleEntry(kind, id, { prompts, environs, runs, extensions })))
    const told = problems.filter(key => [old, now].some(generation => isVisibleKey(key, known, generation, caller)))
    if (changed.length + told.length === 0) return undefined
    const kinds = [...new Set([...changed.map(({ kind }) => kind.name), ...told.length === 0 ? [] : [PROBLEMS]])]
    const ids = [...new Set([...changed.map(({ id }) => id), ...told.map(key => this.#idOf(key))])]
    return {
      ...(seesEverything(caller) ? { revision: after.revision } : {}),
      kinds,
      ids: ids.slice(0, MAX_IDS),
      ...(ids.length > MAX_IDS ? { more: ids.length - MAX_IDS } : {})
    }
  }

  #idOf (key: string): string {
    const prefix = this.#registry.kinds.map(kind => kindPrefix(this.#keyPrefix, kind.key)).find(each => key.startsWith(each))
    return prefix === undefined ? key : keyToPath(key, prefix)
  }
}

function write ({ stream }: Follower, text: string): void {
  if (stream.writableEnded) return
  if (stream.readableLength + stream.writableLength > MAX_UNREAD) stream.destroy()
  else stream.write(text)
}

function eventText (event: string, data: JsonObject): string {
  return `event: ${event}\ndata: ${stringifyJson(data)}\n\n`
}
