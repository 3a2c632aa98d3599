import { createHmac, createSecretKey, randomUUID, timingSafeEqual } from 'node:crypto'
import { getHeapStatistics } from 'node:v8'
import { LRUCache } from 'lru-cache'
import pRetry from 'p-retry'
import { parseOwnJson, stringifyJson } from '../base/json.ts'
import type { Log } from '../runtime/telemetry.ts'
import { createSlices, inTurn } from '../runtime/event-loop.ts'
import { type Advanced, type Engines, foldLogEntry } from './advance-session.ts'
import { ENDED, type LogPosition, type LogEntry } from './model.ts'
import { type Append, type StoredLogEntry, type SessionStore, SessionStoreError } from './store/session-store.ts'
import { headOf, type Session } from './session.ts'

/** A mutex for each id: work on one id runs one after the other; work on different ids runs side by side. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  async run<T> (id: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(id) ?? Promise.resolve()).then(work, work)
    this.#last.set(id, turn)
    try {
      return await turn
    } finally {
      if (this.#last.get(id) === turn) this.#last.delete(id)
    }
  }
}

/** The error that a log contains an entry that this service did not write, or that it wrote to another log or at another position. */
export class LogUntrusted extends Error {
  override readonly name = 'LogUntrusted'

  /** Creates the error. @param seq number of the first log entry whose signature is wrong */
  constructor (seq: number) {
    super(`transition ${seq} is not as this service has written it`)
  }
}

/**
 * Seals are signatures (HMACs) of log entries, so that an attacker who can write to the store cannot make a session act. A seal covers
 * the session's id, the entry's number and bytes, and the token of the previous entry, which is random and sealed itself.
 */
export interface Seals {
  /** Computes the seal of a log entry. @param before token of the previous entry; '' for the first */
  sealOf (id: string, before: string, entry: Omit<StoredLogEntry, 'seal'>): string
  isGenuine (id: string, before: string, entry: StoredLogEntry): boolean
}

/** The seals of a service without a secret: nothing is signed, and every log is trusted, since nobody else is expected to write to the store. */
export const UNSEALED: Seals = { sealOf: () => '', isGenuine: () => true }

/**
 * Creates the seals (signatures of log entries).
 * @param secrets the first one signs new entries, and all of them verify old ones, so that secrets can be rotated
 */
export function createSeals (secrets: readonly string[]): Seals {
  const keys = secrets.map(secret => createSecretKey(secret, 'utf8'))
  const [first] = keys
  if (first === undefined) return UNSEALED
  const digest = (key: typeof first, id: string, before: string, { seq, text }: Omit<StoredLogEntry, 'seal'>): Buffer =>
    // The fields are separated by line ends, which neither an id nor a token has, so no two entries give the same bytes.
    createHmac('sha256', key).update(`${id}\n${seq}\n${before}\n`).update(text).digest()
  return {
    sealOf: (id, before, entry) => digest(first, id, before, entry).toString('base64url'),
    isGenuine (id, before, entry) {
      const given = Buffer.from(entry.seal, 'base64url')
      return given.length === 32 && keys.some(key => timingSafeEqual(digest(key, id, before, entry), given))
    }
  }
}

/** The length of a log entry's JSON from which parsing takes noticeable time, in UTF-16 units. */
const LONG = 32 * 1024

/** A transition (an entry of a session's log) as it was read from the store, with its size. */
interface LoadedEntry {
  readonly transition: LogEntry
  /** The size of the transition's JSON, in bytes. */
  readonly size: number
}

/**
 * Reads the transitions (log entries) of a session with numbers above `after`, for display only: their signatures are not checked.
 * @throws SessionStoreError
 */
export async function * readShown (store: SessionStore, id: string, after: number): AsyncGenerator<LogEntry> {
  const slices = createSlices()
  for await (const page of store.read(id, after)) {
    for (const entry of page) {
      yield await parsed(id, entry)
      if (slices.isDue()) await slices.pause()
    }
  }
}

/** Reads the transitions (log entries) of a session after a position, and checks the seal (the signature) of each. @throws LogUntrusted, SessionStoreError */
export async function * readGenuine (store: SessionStore, seals: Seals, id: string, after: LogPosition | undefined): AsyncGenerator<LoadedEntry> {
  const slices = createSlices()
  let before = after?.token ?? ''
  for await (const page of store.read(id, after?.seq ?? 0)) {
    for (const entry of page) {
      if (!seals.isGenuine(id, before, entry)) throw new LogUntrusted(entry.seq)
      const transition = await parsed(id, entry)
      before = transition.token
      yield { transition, size: Buffer.byteLength(entry.text) }
      if (slices.isDue()) await slices.pause()
    }
  }
}

/** Parses a stored log entry. A long entry waits for its turn of the event loop, so that many readers of long logs do not block the process. */
function parsed (id: string, entry: StoredLogEntry): LogEntry | Promise<LogEntry> {
  return entry.text.length < LONG ? parseEntry(id, entry) : inTurn(() => parseEntry(id, entry))
}

function parseEntry (id: string, { seq, text }: StoredLogEntry): LogEntry {
  let transition: LogEntry | undefined
  try {
    transition = parseOwnJson(text) as unknown as LogEntry
  } catch {}
  if (transition?.seq !== seq) throw new SessionStoreError(`transition ${seq} of session ${id} is damaged`)
  return transition
}

/** The largest number of sessions in the cache. */
const MOST = 1000

/** The largest share of Node's heap that the cache of sessions may take, and its largest size in bytes; the smaller one counts. */
const [HEAP_SHARE, MOST_BYTES] = [1 / 8, 256 * 1024 * 1024]

/** The assumed size of a session in memory, without the texts of its log, in bytes. */
const OWN_BYTES = 4096

/** The time for which an ended session stays in the cache, in ms: its followers still read its last entries. */
const ENDED_FOR = 5000

/** A least-recently-used cache of sessions that were computed from their logs, bounded in number and memory. */
export class HotSessions {
  readonly #sessions = new LRUCache<string, Session>({
    max: MOST,
    maxSize: Math.min(MOST_BYTES, Math.floor(getHeapStatistics().heap_size_limit * HEAP_SHARE)),
    // Engines keep the texts of the log in memory, where most texts take two bytes per character.
    sizeCalculation: ({ bytes }) => OWN_BYTES + 2 * bytes
  })

  get (id: string): Session | undefined {
    return this.#sessions.get(id)
  }

  /** Gives a cached session, without marking it as recently used. */
  peek (id: string): Session | undefined {
    return this.#sessions.peek(id)
  }

  put (session: Session): void {
    const { id, status } = session
    this.#sessions.set(id, session)
    if (ENDED.has(status)) setTimeout(() => { this.#dropEnded(id) }, ENDED_FOR).unref()
  }

  drop (id: string): void {
    this.#sessions.delete(id)
  }

  #dropEnded (id: string): void {
    const known = this.peek(id)
    if (known !== undefined && ENDED.has(known.status)) this.drop(id)
  }
}

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
  readonly top: LogPosition | undefined

  constructor (top: LogPosition | undefined, lost: number) {
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
        const next: Session = foldLogEntry(id, session, transition, engines)
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
      return first && foldLogEntry(id, undefined, first, this.#options.engines)
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
  async transition (id: string, seq: number): Promise<LogEntry | undefined> {
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
  async append ({ session, transition }: Advanced, before: LogPosition | undefined, driver: string | undefined, due: Append['due']): Promise<boolean> {
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

  #entryOf (id: string, before: LogPosition | undefined, transition: LogEntry): StoredLogEntry {
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
    readonly top?: LogPosition | undefined
  }): Promise<void> {
    const { store, by } = this.#options
    this.#hot.drop(id)
    const head = await store.head(id)
    if (head === undefined || ENDED.has(head.status)) return
    const notices = [{ type: 'error', data: { code, message } }, { type: 'done', data: { status: 'failed' } }] as const
    let after: LogPosition | undefined = { seq: given?.seq ?? head.seq, token: given?.token ?? head.token }
    // When somebody else has written to the log, the session's head does not name the last entry. The refused append tells the last entry's
    // position, and the next attempt uses it.
    for (let attempt = 0; after !== undefined && attempt < END_ATTEMPTS; attempt++) {
      const [seq, at, token]: [number, number, string] = [after.seq + 1, Date.now(), randomUUID()]
      const transition: LogEntry = {
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
