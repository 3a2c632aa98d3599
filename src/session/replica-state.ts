import { LRUCache } from 'lru-cache'
import type { JsonObject } from '../base/json.ts'
import type { Log } from '../runtime/telemetry.ts'
import type { Disk } from './model.ts'
import type { Session } from './session.ts'
import { kindOf } from './store/session-index.ts'
import type { SessionStore, UnknownSession } from './store/session-store.ts'

/** Effects of which this process remembers that it performed them. */
const REMEMBERED = 10_000

export class RunningEffects {
  readonly #controllers = new Map<string, Map<string, AbortController>>()
  readonly #kinds = new Map<string, string>()
  // With `max`, the cache would reserve the memory for all entries at once.
  readonly #performed = new LRUCache<string, true>({ maxSize: REMEMBERED, sizeCalculation: () => 1 })

  get sessions (): string[] {
    return [...this.#controllers.keys()]
  }

  /** Sessions of which something is performed here, by kind. */
  kinds (): ReadonlyMap<string, number> {
    return countOf(Array.from(this.#controllers.keys(), session => this.#kinds.get(session) ?? ''))
  }

  has (session: string, effect: string): boolean {
    return this.#controllers.get(session)?.has(effect) === true
  }

  hasAny (session: string): boolean {
    return this.#controllers.has(session)
  }

  /** The log does not always tell: the store may have lost the last entries. */
  wasPerformed (session: string, effect: string): boolean {
    return this.#performed.has(`${session}:${effect}`)
  }

  async run ({ id: session, start: { definition } }: Session, effect: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const controller = new AbortController()
    this.#kinds.set(session, kindOf(definition))
    this.#performed.set(`${session}:${effect}`, true)
    const running = this.#controllers.get(session) ?? new Map<string, AbortController>()
    this.#controllers.set(session, running.set(effect, controller))
    await work(controller.signal)
    // The same effect may have begun again, with another controller.
    if (running.get(effect) === controller) running.delete(effect)
    if (running.size > 0 || this.#controllers.get(session) !== running) return
    this.#controllers.delete(session)
    this.#kinds.delete(session)
  }

  /** @param isUnwanted @default all */
  abort (session: string, isUnwanted: (effect: string) => boolean = () => true): void {
    for (const [effect, controller] of this.#controllers.get(session) ?? []) if (isUnwanted(effect)) controller.abort()
  }
}

/**
 * Bounds the sessions of which this process performs something at a time, in all and of each owner. Owners take turns, so that none makes all
 * others wait.
 */
export class SessionTurns {
  readonly #most: number
  readonly #mostOf: (owner: string) => number | undefined
  /** How many effects of each session go on. */
  readonly #inside = new Map<string, number>()
  /** How many sessions of each owner are inside. */
  readonly #owners = new Map<string, number>()
  /** By owner, the next one first: sessions with what begins when it is their turn. */
  readonly #queues = new Map<string, Map<string, Set<() => void>>>()
  /** Whose turn it was last. */
  #last = ''

  constructor (most = Infinity, mostOf: (owner: string) => number | undefined = () => undefined) {
    this.#most = most
    this.#mostOf = mostOf
  }

  get queued (): number {
    let count = 0
    for (const sessions of this.#queues.values()) count += sessions.size
    return count
  }

  /** For how many sessions more: what is queued while there is room waits for others of its owner. */
  get room (): number {
    return Math.max(0, this.#most - this.#inside.size)
  }

  /** Owners at their own bound, or with sessions that wait already: a further one of theirs would wait too, even while this replica has room. */
  get full (): Set<string> {
    return new Set([...this.#queues.keys(), ...[...this.#owners.keys()].filter(owner => this.#isFull(owner))])
  }

  /** Owners who have had, have or soon get a turn. */
  get busy (): Set<string> {
    return new Set([this.#last, ...this.#owners.keys(), ...this.#queues.keys()])
  }

  /** @returns `undefined`, without calling `work`, when the signal aborts before it is the session's turn */
  async run<T> ({ id, start: { owner } }: Session, signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
    if (!await this.#enter(id, owner, signal)) return undefined
    try {
      return await work()
    } finally {
      if (countDown(this.#inside, id)) countDown(this.#owners, owner)
      this.#admit()
    }
  }

  async #enter (id: string, owner: string, signal: AbortSignal): Promise<boolean> {
    return await new Promise<boolean>(resolve => {
      const sessions = this.#queues.get(owner) ?? new Map<string, Set<() => void>>()
      const waiting = sessions.get(id) ?? new Set()
      const enter = (): void => {
        signal.removeEventListener('abort', leave)
        if (!this.#inside.has(id)) this.#owners.set(owner, (this.#owners.get(owner) ?? 0) + 1)
        this.#inside.set(id, (this.#inside.get(id) ?? 0) + 1)
        this.#last = owner
        resolve(true)
      }
      const leave = (): void => {
        waiting.delete(enter)
        if (waiting.size === 0) sessions.delete(id)
        if (sessions.size === 0) this.#queues.delete(owner)
        resolve(false)
      }
      if (signal.aborted) return resolve(false)
      if (this.#inside.has(id)) return enter()
      signal.addEventListener('abort', leave, { once: true })
      this.#queues.set(owner, sessions.set(id, waiting.add(enter)))
      this.#admit()
    })
  }

  #isFull (owner: string): boolean {
    return (this.#owners.get(owner) ?? 0) >= (this.#mostOf(owner) ?? Infinity)
  }

  #admit (): void {
    while (this.#inside.size < this.#most) {
      const owner = [...this.#queues.keys()].find(each => !this.#isFull(each))
      const sessions = owner === undefined ? undefined : this.#queues.get(owner)
      const [next] = sessions ?? []
      if (owner === undefined || sessions === undefined || next === undefined) return
      const [id, waiting] = next
      sessions.delete(id)
      // Its turn comes again behind those of all others.
      this.#queues.delete(owner)
      if (sessions.size > 0) this.#queues.set(owner, sessions)
      for (const enter of waiting) enter()
    }
  }
}

/** @returns whether none is left */
function countDown (counts: Map<string, number>, of: string): boolean {
  const left = (counts.get(of) ?? 0) - 1
  if (left > 0) counts.set(of, left)
  else counts.delete(of)
  return left <= 0
}

/** So this process hears of entries of other replicas, such as a stop or an approval, for sessions that it drives. */
export class Watches {
  readonly #store: SessionStore
  readonly #onNews: (id: string, seq: number) => void
  readonly #onLive: (live: JsonObject) => void
  readonly #open = new Map<string, Promise<() => void>>()
  readonly #kept = new Set<string>()

  /** @param onNews gets the number of a new entry, or `Infinity` when there are perhaps new ones */
  constructor (store: SessionStore, onNews: (id: string, seq: number) => void, onLive: (live: JsonObject) => void) {
    this.#store = store
    this.#onNews = onNews
    this.#onLive = onLive
  }

  keep (id: string): void {
    this.#kept.add(id)
    this.open(id)
  }

  release (id: string): void {
    this.#kept.delete(id)
    this.close(id)
  }

  open (id: string): void {
    if (this.#open.has(id)) return
    const look = (): void => { this.#onNews(id, Infinity) }
    const listener = { onAppend: (seq: number) => { this.#onNews(id, seq) }, onLive: this.#onLive, onGap: look }
    const watch = this.#store.watch(id, listener).catch(() => () => {})
    this.#open.set(id, watch)
    // Entries from before the watch did not reach the listener, so `onNews` is called once in any case.
    void watch.then(look)
  }

  close (id: string): void {
    if (this.#kept.has(id)) return
    const watch = this.#open.get(id)
    this.#open.delete(id)
    void watch?.then(stop => { stop() })
  }

  async closeAll (): Promise<void> {
    for (const watch of this.#open.values()) (await watch)()
  }
}

/** The sessions that wait for another process, as far as this one has seen them. */
export class WaitsForOthers {
  readonly #log: Log
  readonly #lease: number
  /** By session; `at` is the last look, in ms of `performance.now()`. */
  readonly #disks = new Map<string, { readonly name: string, readonly at: number }>()
  /** Sessions that no replica has taken in time, with the engine that this replica does not have. */
  #engines: ReadonlyMap<string, string> = new Map()

  constructor (log: Log, lease: number) {
    this.#log = log
    this.#lease = lease
  }

  forDisk (session: string, { id, name }: Disk): void {
    if (!this.#disks.has(session)) this.#log.warn({ session, disk: id, name }, 'a session waits for a process that has its disk')
    this.#disks.set(session, { name, at: performance.now() })
  }

  /** One due for longer than two leases is taken by no other replica either: that is logged once. */
  forEngines (sessions: readonly UnknownSession[]): void {
    const late = sessions.filter(({ overdue }) => overdue > 2 * this.#lease)
    for (const { id, engine } of late) {
      if (!this.#engines.has(id)) this.#log.warn({ session: id, engine }, 'a session waits for a process that has its engine')
    }
    this.#engines = new Map(late.map(({ id, engine }) => [id, engine]))
  }

  delete (session: string): void {
    this.#disks.delete(session)
  }

  /** How many sessions wait for each disk, by its name. */
  disks (): ReadonlyMap<string, number> {
    for (const [id, { at }] of this.#disks) if (performance.now() - at > 3 * this.#lease) this.#disks.delete(id)
    return countOf(Array.from(this.#disks.values(), ({ name }) => name))
  }

  engines (): ReadonlyMap<string, number> {
    return countOf([...this.#engines.values()])
  }

  describe (): readonly string[] {
    const waits = (count: number, what: string): string => `${count} ${count === 1 ? 'session waits' : 'sessions wait'} for a process that has the ${what}`
    const disks = Array.from(this.disks(), ([name, count]) => waits(count, `disk "${name}"`))
    return [...disks, ...Array.from(this.engines(), ([engine, count]) => waits(count, `engine ${engine}`))]
  }
}

function countOf (names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
