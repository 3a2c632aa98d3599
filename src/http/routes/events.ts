import { PassThrough } from 'node:stream'
import { type Caller, seesEverything } from '../../access/caller.ts'
import { visibleGeneration } from '../../access/views.ts'
import { isVisibleEntry, isVisibleKey, refusalBy, type RightsWatch } from '../../access/rights.ts'
import { tooManyStreams } from '../../base/errors.ts'
import { Type } from '../../schema/builder.ts'
import type { EntryProblem } from '../../registry/entries/entry-table.ts'
import { type RegistryChange, changesBetween } from '../../registry/offered.ts'
import type { Generation } from '../../registry/generation.ts'
import { environKind } from '../../registry/kinds/environ-kind.ts'
import type { Registry } from '../../registry/registry.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import type { Service } from '../../service.ts'
import { changedFor, type WaitingChange } from '../../service/sessions/approvals.ts'
import type { SessionService } from '../../service/sessions/session-service.ts'
import { keyToPath, kindPrefix } from '../../store/store.ts'
import type { App } from '../app.ts'
import { holdStream, sendEvents, eventText } from '../send-reply.ts'

/** In ms. */
const PAUSE = 100

/** More are left out: a client would not refresh so many rows one by one. */
const MAX_KEYS = 10_000

interface Changes {
  readonly before: Generation
  readonly after: Generation
  readonly entries: readonly RegistryChange[]
  readonly problems: readonly string[]
}

/** Watches the registry once for all listeners; without any it does nothing. */
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

  /** @returns a function that removes the listener */
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

function stampsOf (problems: readonly EntryProblem[]): ReadonlyMap<string, string> {
  return new Map(problems.map(({ key, servesLastGood, diagnostics }) => [
    key,
    `${servesLastGood} ${diagnostics.map(({ code, message, line, column }) => `${code} ${message} ${line} ${column}`).join('\n')}`
  ]))
}

/** In ms, before the store of sessions is asked again to tell of changes. */
const RETRY = 5000

/** Sessions in which something begins to wait for a person, or waits no more. The store of sessions is opened for the first listener. */
class WaitingFeed {
  readonly #sessions: SessionService
  readonly #tell: (changes: readonly WaitingChange[] | undefined) => void
  #end: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #retry: NodeJS.Timeout | undefined
  #changes = new Map<string, WaitingChange>()
  #hasGap = false
  #beginning: Promise<void> | undefined

  /** @param tell gets `undefined` when some change was perhaps missed */
  constructor (sessions: SessionService, tell: (changes: readonly WaitingChange[] | undefined) => void) {
    this.#sessions = sessions
    this.#tell = tell
  }

  /** Resolves when each change is told from now on, or the store of sessions cannot be reached. */
  async begin (): Promise<void> {
    await (this.#beginning ??= this.#watch())
  }

  end (): void {
    this.#beginning = undefined
    this.#end?.()
    this.#end = undefined
    clearTimeout(this.#retry)
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  async #watch (isLate = false): Promise<void> {
    try {
      const end = await this.#sessions.watchWaiting(change => { this.#changed(change) })
      // All may have left meanwhile, and others may have come.
      if (this.#beginning !== undefined && this.#end === undefined) this.#end = end
      else end()
      if (isLate) this.#changed()
    } catch {
      if (this.#beginning !== undefined) this.#retry = setTimeout(() => { void this.#watch(true) }, RETRY).unref()
    }
  }

  #changed (change?: WaitingChange): void {
    if (this.#beginning === undefined) return
    if (change === undefined || this.#changes.size === MAX_IDS) this.#hasGap = true
    else this.#changes.set(change.session, { ...change, isApproval: change.isApproval || this.#changes.get(change.session)?.isApproval === true })
    this.#timer ??= setTimeout(() => {
      const changes = this.#hasGap ? undefined : [...this.#changes.values()]
      this.#timer = undefined
      this.#changes = new Map()
      this.#hasGap = false
      this.#tell(changes)
    }, PAUSE).unref()
  }
}

/** Of all callers together: each change is looked at for each stream. */
const MAX_IN_ALL = 1000

/** In ms. */
const HEARTBEAT = 15_000

/** The most unread bytes; beyond them the stream is closed, and the client connects again and reloads its lists. */
const MAX_UNREAD = 64 * 1024

/** Beyond so many the event only gives a count, and clients load whole lists again. */
const MAX_IDS = 500

const PROBLEMS = 'problems'

interface StreamClient {
  readonly stream: PassThrough
  /** With the rights that the token has now. @throws TOKEN_UNKNOWN, ROLE_MISSING */
  callerNow (): Caller
}

/** Their number is limited, and a stream ends when its client's token no longer allows it. */
class EventStreams {
  readonly #registry: Registry
  readonly #keyPrefix: string
  readonly #rights: RightsWatch
  readonly #feed: ChangeFeed
  readonly #waiting: WaitingFeed
  readonly #followers = new Set<StreamClient>()
  #timer: NodeJS.Timeout | undefined
  #unfollow: (() => void) | undefined
  #isClosed = false

  constructor ({ registry, keyPrefix, rights, sessions }: FollowedService) {
    this.#registry = registry
    this.#keyPrefix = keyPrefix
    this.#rights = rights
    this.#feed = new ChangeFeed(registry)
    this.#waiting = new WaitingFeed(sessions, changes => { for (const each of this.#followers) this.#tellOfWaiting(each, changes) })
  }

  /** @throws TOO_MANY_STREAMS */
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
    const greet = (): void => { write(follower, ': changes follow\n\n') }
    if (waitsForCaller(callerNow())) void this.#waiting.begin().then(greet)
    else greet()
    this.#unfollow ??= this.#feed.follow(changes => { for (const each of this.#followers) this.#tell(each, changes) })
    this.#timer ??= setInterval(() => { for (const each of this.#followers) write(each, ': still here\n\n') }, HEARTBEAT).unref()
    if (this.#isClosed) stream.end()
    return stream
  }

  /** A stream that is opened later ends at once: a closing service waits for every reply. */
  close (): void {
    this.#isClosed = true
    for (const { stream } of this.#followers) stream.end()
  }

  #remove (follower: StreamClient): void {
    this.#followers.delete(follower)
    if (this.#followers.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#unfollow?.()
    this.#unfollow = undefined
    this.#waiting.end()
  }

  #tell (follower: StreamClient, changes: Changes): void {
    if (refusalBy(follower.callerNow) !== undefined) return
    const caller = follower.callerNow()
    const seen = caller.roles.has('read') ? this.#seenBy(caller, changes) : undefined
    if (seen !== undefined) write(follower, eventText('changed', seen))
  }

  #tellOfWaiting (follower: StreamClient, changes: readonly WaitingChange[] | undefined): void {
    if (refusalBy(follower.callerNow) !== undefined) return
    const caller = follower.callerNow()
    if (changes === undefined) {
      if (waitsForCaller(caller)) write(follower, eventText('waiting', { kinds: ['approvals', 'sessions'] }))
      return
    }
    const seen = changes.map(change => ({ id: change.session, kinds: changedFor(caller, change) })).filter(({ kinds }) => kinds.length > 0)
    const kinds = [...new Set(seen.flatMap(each => each.kinds))].sort()
    if (kinds.length > 0) write(follower, eventText('waiting', { kinds, ids: seen.map(({ id }) => id) }))
  }

  /** Names only entries that this caller may see; `undefined` when no such entry has changed. */
  #seenBy (caller: Caller, { before, after, entries, problems }: Changes): object | undefined {
    const [old, now] = [visibleGeneration(before, caller), visibleGeneration(after, caller)]
    const { prompts, environs, runs } = caller
    const known = { keyPrefix: this.#keyPrefix, kinds: this.#registry.kinds }
    const changed = entries.filter(({ kind, id }) => [old, now].some(({ extensions }) => isVisibleEntry(kind, id, { prompts, environs, runs, extensions })))
    const told = problems.filter(key => [old, now].some(generation => isVisibleKey(key, known, generation, caller)))
    if (changed.length + told.length === 0) return undefined
    const kinds = [...new Set([...changed.map(({ kind }) => kind.name), ...told.length === 0 ? [] : [PROBLEMS]])]
    const ids = [...new Set([...changed.map(({ id }) => id), ...told.map(key => this.#idOf(key))])]
    return {
      revision: seesEverything(caller) ? after.revision : undefined,
      kinds,
      ids: ids.slice(0, MAX_IDS),
      more: ids.length > MAX_IDS ? ids.length - MAX_IDS : undefined
    }
  }

  #idOf (key: string): string {
    const prefix = this.#registry.kinds.map(kind => kindPrefix(this.#keyPrefix, kind.key)).find(each => key.startsWith(each))
    return prefix === undefined ? key : keyToPath(key, prefix)
  }
}

/** Whether anything can wait for the caller. */
function waitsForCaller ({ roles }: Caller): boolean {
  return roles.has('run') || roles.has('approve')
}

function write ({ stream }: StreamClient, text: string): void {
  if (stream.writableEnded) return
  if (stream.readableLength + stream.writableLength > MAX_UNREAD) stream.destroy()
  else stream.write(text)
}

const Events = Type.String({
  description: 'Events. `changed` {revision, kinds, ids, more}: what the caller\'s listings would now say otherwise. `kinds` are prompts, tools, extensions, environs and so on, and `problems` for what `/api/status/entries` says; ' +
    '`ids` are at most 500 of them, sorted by kind, and `more` is how many more there are. `revision` is that of all that is registered, for a caller from whom nothing of it is hidden. ' +
    '`waiting` {kinds, ids}: what waits for the caller may have changed. `kinds` are `approvals` (of `/api/approvals`) and `sessions` (the caller\'s own, and what these wait for), `ids` those of at most 500 sessions; left out where some change was perhaps missed. ' +
    '`error` {code, message}: the stream ends, since the token is gone or has lost its role. A comment every 15 s says that the stream is open'
})

type FollowedService = Pick<Service, 'registry' | 'keyPrefix' | 'rights' | 'sessions'>

export function eventRoutes (app: App, service: FollowedService): void {
  const streams = new EventStreams(service)
  app.addHook('preClose', async () => { streams.close() })

  app.get('/api/events', {
    config: { role: 'read', orRoles: ['run', 'approve'], fails: ['TOO_MANY_STREAMS'] },
    schema: {
      tags: ['Status'],
      operationId: 'followChanges',
      summary: 'Follow what changes, and what waits for a person, as server-sent events',
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
