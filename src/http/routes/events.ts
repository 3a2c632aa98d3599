import { PassThrough } from 'node:stream'
import { type Caller, seesEverything } from '../../access/caller.ts'
import { visibleGeneration } from '../../access/generation-view.ts'
import { isVisibleEntry, isVisibleKey, refusalBy, type RightsWatch } from '../../access/rights.ts'
import { tooManyStreams } from '../../base/errors.ts'
import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { Type } from '../../base/schema-builder.ts'
import type { EntryProblem } from '../../registry/entries/entry-table.ts'
import { type Change, changesBetween } from '../../registry/offered.ts'
import type { Generation } from '../../registry/generation.ts'
import { environKind } from '../../registry/kinds/environ-kind.ts'
import type { Registry } from '../../registry/registry.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import type { Service } from '../../service.ts'
import { keyToPath, kindPrefix } from '../../store/store.ts'
import type { App } from '../app.ts'
import { holdStream, sendEvents } from '../send-reply.ts'

/** The time for which changes are collected before they are reported together, in ms. */
const PAUSE = 100

/**
 * The most changed shared variables that are collected for one report to the listeners. Further ones are left out, since a client would not
 * refresh more rows of a list one by one.
 */
const MAX_KEYS = 10_000

/** One report to the listeners of a `ChangeFeed`: what has changed in the registry (all loaded entries) since the report before. */
interface Changes {
  readonly before: Generation
  readonly after: Generation
  readonly entries: readonly Change[]
  /** The keys of entries whose problems have changed: the entries became unusable or usable again, or have other diagnostics. */
  readonly problems: readonly string[]
}

/** Watches the registry (all loaded entries) for changes, once for all listeners together. While there are no listeners, it does nothing. */
class ChangeFeed {
  readonly #registry: Registry
  readonly #listeners = new Set<(changes: Changes) => void>()
  #generation: Generation
  #problems: ReadonlyMap<string, string> = new Map()
  #environs = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #ends: ReadonlyArray<() => void> = []
  #isLooking = false

  constructor (registry: Registry) {
    this.#registry = registry
    this.#generation = registry.generation
  }

  /** Calls the listener with all changes from now on. @returns a function that removes the listener */
  follow (listener: (changes: Changes) => void): () => void {
    if (this.#listeners.size === 0) this.#begin()
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#end()
    }
  }

  #begin (): void {
    this.#generation = this.#registry.generation
    this.#problems = stampsOf(this.#registry.problems())
    this.#environs.clear()
    this.#ends = [
      this.#registry.onPublished(() => { this.#plan() }),
      this.#registry.onRead(keys => {
        for (const key of keys) if (this.#environs.size < MAX_KEYS) this.#environs.add(key)
        this.#plan()
      })
    ]
  }

  #end (): void {
    for (const end of this.#ends) end()
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #plan (): void {
    this.#timer ??= setTimeout(() => { void this.#look() }, PAUSE).unref()
  }

  async #look (): Promise<void> {
    this.#timer = undefined
    // The last comparison is still running: newer changes wait for the next comparison.
    if (this.#isLooking) return this.#plan()
    this.#isLooking = true
    const { prefix } = this.#registry.environs
    const [before, after] = [this.#generation, this.#registry.generation]
    const [old, now] = [this.#problems, stampsOf(this.#registry.problems())]
    const environs = [...this.#environs].map(key => ({ kind: environKind, id: keyToPath(key, prefix) }))
    this.#environs = new Set()
    this.#generation = after
    this.#problems = now
    try {
      const entries = [...await changesBetween(before, after, this.#registry.kinds, createSlices()), ...environs]
      const problems = [...new Set([...old.keys(), ...now.keys()])].filter(key => old.get(key) !== now.get(key))
      if (entries.length + problems.length > 0) for (const listener of this.#listeners) listener({ before, after, entries, problems })
    } finally {
      this.#isLooking = false
    }
  }
}

/** Gives a text for each entry that has problems, by the entry's key. The text changes whenever the entry's problems change. */
function stampsOf (problems: readonly EntryProblem[]): ReadonlyMap<string, string> {
  return new Map(problems.map(({ key, servesLastGood, diagnostics }) => [
    key,
    `${servesLastGood} ${diagnostics.map(({ code, message, line, column }) => `${code} ${message} ${line} ${column}`).join('\n')}`
  ]))
}

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
class EventStreams {
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

const Events = Type.String({
  description: 'Events. `changed` {revision, kinds, ids, more}: what the caller\'s listings would now say otherwise. `kinds` are prompts, tools, extensions, environs and so on, and `problems` for what `/api/status/entries` says; ' +
    '`ids` are at most 500 of them, sorted by kind, and `more` is how many more there are. `revision` is that of all that is registered, for a caller from whom nothing of it is hidden. ' +
    '`error` {code, message}: the stream ends, since the token is gone or has lost its role. A comment every 15 s says that the stream is open'
})

/** The route that streams changes of entries as server-sent events, so that lists in a client can refresh. */
export function eventRoutes (app: App, { registry, keyPrefix, rights }: Pick<Service, 'registry' | 'keyPrefix' | 'rights'>): void {
  const streams = new EventStreams(registry, keyPrefix, rights)
  app.addHook('preClose', async () => { streams.close() })

  app.get('/api/events', {
    config: { role: 'read', fails: ['TOO_MANY_STREAMS'] },
    schema: {
      tags: ['Status'],
      operationId: 'followChanges',
      summary: 'Follow what changes as server-sent events',
      description: 'Nothing is repeated: whoever comes back reads its lists again when `x-registry-revision` has moved. Shared variables are told of where the store pushes its changes.',
      response: { 200: { description: 'Events', content: { 'text/event-stream': { schema: Events } } } }
    }
  }, async (request, reply) => {
    holdStream(request, reply)
    const stream = streams.open(() => request.callerNow())
    reply.raw.once('close', () => { stream.destroy() })
    return await sendEvents(reply, stream)
  })
}
