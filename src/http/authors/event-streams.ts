import { PassThrough } from 'node:stream'
import { type Caller, seesEverything } from '../../access/caller.ts'
import { visibleGeneration } from '../../access/generation-view.ts'
import { isVisibleEntry, isVisibleKey } from '../../access/visible-key.ts'
import { ServiceError, tooManyStreams } from '../../base/errors.ts'
import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { type Registry } from '../../registry/registry.ts'
import { keyToPath, kindPrefix } from '../../store/keys.ts'
import { ChangeFeed, type Changes } from './change-feed.ts'

/** The most streams that may be open at a time, of one caller and of all callers together. */
const MAX_PER_CALLER = 50
const MAX_IN_ALL = 1000

/**
 * The time between two checks that the callers of all streams are still allowed to follow changes, in ms, and the number of checks after
 * which each stream gets a comment line. The line only shows that the stream is alive.
 */
const INTERVAL = 1000
const LOOKS_PER_COMMENT = 15

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
  readonly name: string
  readonly stream: PassThrough
  /** Looks up the caller's token again, and gives the caller with the rights that the token has now. @throws TOKEN_UNKNOWN, ROLE_MISSING */
  callerNow (): Caller
}

/**
 * All open streams that tell clients which entries have changed. Their number is limited, and the token of each client is checked again
 * regularly.
 */
export class EventStreams {
  readonly #registry: Registry
  readonly #keyPrefix: string
  readonly #feed: ChangeFeed
  readonly #followers = new Set<Follower>()
  #timer: NodeJS.Timeout | undefined
  #unfollow: (() => void) | undefined
  #looks = 0

  constructor (registry: Registry, keyPrefix: string) {
    this.#registry = registry
    this.#keyPrefix = keyPrefix
    this.#feed = new ChangeFeed(registry)
  }

  /**
   * Opens a stream for a client, which ends when the client's token loses the right to follow changes.
   * @throws TOO_MANY_STREAMS
   */
  open (name: string, callerNow: () => Caller): PassThrough {
    const own = [...this.#followers].filter(follower => follower.name === name).length
    if (own >= MAX_PER_CALLER || this.#followers.size >= MAX_IN_ALL) throw tooManyStreams(MAX_PER_CALLER)
    const stream = new PassThrough()
    const follower = { name, stream, callerNow }
    this.#followers.add(follower)
    stream.once('close', () => { this.#remove(follower) })
    // The client gets the headers only with the first byte of the body.
    stream.write(': changes follow\n\n')
    this.#unfollow ??= this.#feed.follow(changes => { for (const each of this.#followers) this.#tell(each, changes) })
    this.#timer ??= setInterval(() => { this.#look() }, INTERVAL).unref()
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

  #look (): void {
    const isCommenting = ++this.#looks % LOOKS_PER_COMMENT === 0
    for (const follower of this.#followers) if (this.#caller(follower) !== undefined && isCommenting) write(follower, ': still here\n\n')
  }

  /**
   * Gives the caller who opened a stream, with the rights that the caller's token has now. When the token no longer allows the caller to
   * follow changes, the stream is ended with an error event. @returns `undefined` for a stream that has ended, also just now
   */
  #caller (follower: Follower): Caller | undefined {
    if (follower.stream.writableEnded) return undefined
    try {
      return follower.callerNow()
    } catch (error) {
      const { code, message } = error instanceof ServiceError ? error : { code: 'INTERNAL', message: 'The stream ended unexpectedly' }
      follower.stream.end(eventText('error', { code, message }))
      return undefined
    }
  }

  #tell (follower: Follower, changes: Changes): void {
    const caller = this.#caller(follower)
    const seen = caller === undefined ? undefined : this.#seenBy(caller, changes)
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
  if (stream.readableLength + stream.writableLength > MAX_UNREAD) stream.destroy()
  else stream.write(text)
}

function eventText (event: string, data: JsonObject): string {
  return `event: ${event}\ndata: ${stringifyJson(data)}\n\n`
}
