import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import pRetry from 'p-retry'
import { stringifyJson } from '../base/json.ts'
import { type Log } from '../base/log.ts'
import { type Advanced } from './advance.ts'
import { type Engines, foldTransition } from './fold.ts'
import { HotSessions } from './hot-sessions.ts'
import { ENDED, type Position, type Transition } from './model.ts'
import { readGenuine, readShown } from './read-log.ts'
import { LogUntrusted, type Seals } from './seal.ts'
import { headOf, type Session } from './session.ts'
import { type Append, type Entry, type SessionStore, SessionStoreError } from './session-store.ts'
import { KeyedMutex } from './keyed-mutex.ts'

/** The most ids that are remembered of sessions with a log to which somebody else has written. They are remembered so that each is reported once. */
const UNTRUSTED = 1000

/** The most attempts to append the entry that ends a session that cannot be continued. An attempt fails when another writer was first. */
const END_ATTEMPTS = 5

/** The number of attempts to append an entry while the store does not answer. */
const APPEND_ATTEMPTS = 8

/** The error that the store has lost entries of a session's log, though it had confirmed that it wrote them. */
export class LogLost extends Error {
  override readonly name = 'LogLost'

  /** The position of the last entry that the store still has; undefined when none is left. */
  readonly top: Position | undefined

  constructor (top: Position | undefined, lost: number) {
    super(`transitions from ${(top?.seq ?? 0) + 1} to ${lost} are gone`)
    this.top = top
  }
}

export interface SessionLogOptions {
  readonly store: SessionStore
  readonly engines: Engines
  readonly seals: Seals
  readonly log: Log
  /** The id of this replica (service process). The log entries that it writes carry this id. */
  readonly by: string
}

/** Computes sessions from their logs in the store, and appends transitions (entries) to the logs. */
export class SessionLog {
  readonly #options: SessionLogOptions
  readonly #hot = new HotSessions()
  readonly #mutex = new KeyedMutex()

  /** The ids of sessions to whose logs somebody else has written, so that each is reported once. */
  readonly #untrusted = new LRUCache<string, true>({ max: UNTRUSTED })

  constructor (options: SessionLogOptions) {
    this.#options = options
  }

  /**
   * Computes a session from its log; `undefined` for a session that nobody has begun. When an entry was not written by this service, the
   * session is returned as it was before that entry, with the status `failed`; where the first one was not, as that entry tells.
   * @throws EngineDiverged, EngineUnknown, SessionStoreError
   */
  async load (id: string): Promise<Session | undefined> {
    // Loads of one session run one after the other: in parallel, each would hold all of a long log in memory.
    return await this.#mutex.run(id, () => this.#load(id))
  }

  async #load (id: string): Promise<Session | undefined> {
    const { store, engines, seals } = this.#options
    let session = this.#hot.get(id)
    try {
      for await (const { transition, size } of readGenuine(store, seals, id, session)) {
        const next: Session = foldTransition(id, session, transition, engines)
        session = { ...next, bytes: next.bytes + size }
      }
    } catch (error) {
      if (!(error instanceof LogUntrusted)) throw error
      await this.#distrust(id, error)
      session ??= await this.#untrustedStart(id)
      return session && { ...session, status: 'failed', open: new Map() }
    }
    if (session !== undefined) this.#hot.put(session)
    return session
  }

  /** A session as the first entry of its log tells, though its seal is wrong: its owner can see what it was, and nothing of it is done. */
  async #untrustedStart (id: string): Promise<Session | undefined> {
    try {
      const first = await this.transition(id, 1)
      return first && foldTransition(id, undefined, first, this.#options.engines)
    } catch (error) {
      if (error instanceof SessionStoreError) throw error
      // Whoever has written the entry can have written anything.
      return undefined
    }
  }

  /** The owner of a session: the name of the access token that started it. Only the first entry of the log is read. @throws SessionStoreError */
  async ownerOf (id: string): Promise<string | undefined> {
    const { store, seals } = this.#options
    const known = this.#hot.peek(id)
    if (known !== undefined) return known.start.owner
    try {
      const log = readGenuine(store, seals, id, undefined)
      const first = await log.next()
      await log.return(undefined)
      return first.done !== true && first.value.transition.fact.kind === 'started' ? first.value.transition.fact.start.owner : undefined
    } catch (error) {
      if (!(error instanceof LogUntrusted)) throw error
      return (await this.load(id))?.start.owner
    }
  }

  /** Logs, once, that somebody else wrote an entry of a session's log, and ends the session. */
  async #distrust (id: string, { message }: LogUntrusted): Promise<void> {
    if (this.#untrusted.has(id)) return
    this.#untrusted.set(id, true)
    this.#options.log.error(
      { session: id, code: 'LOG_UNTRUSTED', reason: message },
      'somebody else has written to the log of a session; nothing of it is done any more'
    )
    await this.stopBroken(id, { code: 'LOG_UNTRUSTED', message })
  }

  /** The id of the replica (service process) that drives a session, according to the session's head in the store. @throws SessionStoreError */
  async driverOf (id: string): Promise<string | undefined> {
    return (await this.#options.store.head(id))?.driver
  }

  /** Reads one transition (log entry) of a session, by its number. @throws SessionStoreError */
  async transition (id: string, seq: number): Promise<Transition | undefined> {
    const read = readShown(this.#options.store, id, seq - 1)
    const { value } = await read.next()
    await read.return(undefined)
    return value
  }

  /** Gives the session from this process's cache, if it is there. The cached session is outdated when another replica has added to the log. */
  peek (id: string): Session | undefined {
    return this.#hot.peek(id)
  }

  /**
   * Appends a transition (log entry) to a session's log. Retries with the same token while the store does not answer.
   * @param driver the replica that performs the session's effects from now on, if any
   * @returns false when another writer was first, or when another replica has perhaps taken the session over since: the caller then performs no
   * effect, and reads the session again
   * @throws LogLost, SessionStoreError
   */
  async append ({ session, transition }: Advanced, before: Position | undefined, driver: string | undefined, due: Append['due']): Promise<boolean> {
    const append: Append = {
      id: session.id,
      after: before && { seq: before.seq, token: before.token },
      transition,
      entry: this.#entryOf(session.id, before, transition),
      head: headOf(session, driver),
      due
    }
    const sent = performance.now()
    const outcome = await pRetry(() => this.#options.store.append(append), {
      retries: APPEND_ATTEMPTS - 1,
      minTimeout: 50,
      maxTimeout: 2000,
      shouldRetry: ({ error }) => error instanceof SessionStoreError
    })
    if (outcome === 'ok' || outcome === 'again') {
      // This replica's lease (its right to drive the session) counts from the first attempt. When much of the lease is over, another replica has
      // perhaps taken the session.
      const isDoubtful = outcome === 'again' || (typeof due === 'number' && performance.now() - sent > due / 2)
      if (driver !== undefined && isDoubtful && !await this.#isDriven(session, driver)) return false
      this.#hot.put({ ...session, bytes: session.bytes + Buffer.byteLength(append.entry.text) })
      return true
    }
    this.#hot.drop(session.id)
    if (before !== undefined && (outcome.top === undefined || outcome.top.seq < before.seq)) throw new LogLost(outcome.top, before.seq)
    return false
  }

  /** Whether the session's last transition in the store is still the one with this token, and this driver (replica) still drives the session. */
  async #isDriven ({ id, token }: Session, driver: string): Promise<boolean> {
    const head = await this.#options.store.head(id)
    return head?.token === token && head.driver === driver
  }

  #entryOf (id: string, before: Position | undefined, transition: Transition): Entry {
    const unsealed = { seq: transition.seq, text: stringifyJson(transition) }
    return { ...unsealed, seal: this.#options.seals.sealOf(id, before?.token ?? '', unsealed) }
  }

  /**
   * Ends a session that cannot be continued, without reading its log: appends an entry that stops it.
   * @param top position of the last entry of the log.
   * @default the position that the session's head names
   */
  async stopBroken (id: string, { code, message, top: given }: {
    readonly code: string,
    readonly message: string,
    readonly top?: Position | undefined
  }): Promise<void> {
    const { store, by } = this.#options
    this.#hot.drop(id)
    const head = await store.head(id)
    if (head === undefined || ENDED.has(head.status)) return
    const notices = [{ type: 'error', data: { code, message } }, { type: 'done', data: { status: 'failed' } }] as const
    let after: Position | undefined = { seq: given?.seq ?? head.seq, token: given?.token ?? head.token }
    // When somebody else has written to the log, the session's head does not name the last entry. The refused append tells the last entry's
    // position, and the next attempt uses it.
    for (let attempt = 0; after !== undefined && attempt < END_ATTEMPTS; attempt++) {
      const [seq, at, token]: [number, number, string] = [after.seq + 1, Date.now(), randomUUID()]
      const transition: Transition = {
        seq,
        at,
        token,
        by,
        fact: { kind: 'stopped', by: 'fault', reason: `${code}: ${message}` },
        begun: [],
        held: [],
        denied: [],
        notices
      }
      const outcome = await store.append({
        id,
        after,
        transition,
        entry: this.#entryOf(id, after, transition),
        head: { ...head, seq, token, status: 'failed', isAsking: false, updatedAt: at, driver: undefined },
        due: 'never'
      })
      after = typeof outcome === 'string' || given !== undefined ? undefined : outcome.top
    }
  }
}
