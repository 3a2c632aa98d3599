import { createHmac, createSecretKey, randomUUID, timingSafeEqual } from 'node:crypto'
import { getHeapStatistics } from 'node:v8'
import { LRUCache } from 'lru-cache'
import pRetry from 'p-retry'
import { parseOwnJson, stringifyJson } from '../base/json.ts'
import { KeyedMutex, retryChange } from '../runtime/concurrency.ts'
import type { Log } from '../runtime/telemetry.ts'
import { createSlices, inTurn } from '../runtime/event-loop.ts'
import { type Advanced, type Engines, foldLogEntry } from './advance-session.ts'
import { ENDED, type LogPosition, type LogEntry } from './model.ts'
import { type Append, type Appended, type StoredLogEntry, type SessionStore, SessionStoreError } from './store/session-store.ts'
import { headOf, problemIn, type Session } from './session.ts'

/** The log has an entry that this service did not write, or wrote to another log or position. */
export class LogUntrusted extends Error {
  override readonly name = 'LogUntrusted'

  /** @param seq of the first entry with a wrong signature */
  constructor (seq: number) {
    super(`transition ${seq} is not as this service has written it`)
  }
}

/** HMACs over session, number, bytes and the previous random token: who can write to the store cannot make sessions act. */
export interface Seals {
  /** @param before token of the previous entry; '' for the first */
  sealOf (id: string, before: string, entry: Omit<StoredLogEntry, 'seal'>): string
  isGenuine (id: string, before: string, entry: StoredLogEntry): boolean
}

/** Without a secret every log is trusted: nobody else is expected to write to the store. */
export const UNSEALED: Seals = { sealOf: () => '', isGenuine: () => true }

/** @param secrets the first signs, all verify, so that they can be rotated */
export function createSeals (secrets: readonly string[]): Seals {
  const keys = secrets.map(secret => createSecretKey(secret, 'utf8'))
  const [first] = keys
  if (first === undefined) return UNSEALED
  const digest = (key: typeof first, id: string, before: string, { seq, text }: Omit<StoredLogEntry, 'seal'>): Buffer =>
    // Neither an id nor a token has a line end, so no two entries give the same bytes.
    createHmac('sha256', key).update(`${id}\n${seq}\n${before}\n`).update(text).digest()
  return {
    sealOf: (id, before, entry) => digest(first, id, before, entry).toString('base64url'),
    isGenuine (id, before, entry) {
      const given = Buffer.from(entry.seal, 'base64url')
      return given.length === 32 && keys.some(key => timingSafeEqual(digest(key, id, before, entry), given))
    }
  }
}

/** UTF-16 units of JSON from which parsing takes noticeable time. */
const LONG = 32 * 1024

/** For display only: signatures are not checked. @throws SessionStoreError */
export async function * readShown (store: SessionStore, id: string, after: number): AsyncGenerator<LogEntry> {
  const slices = createSlices()
  for await (const page of store.read(id, after)) {
    for (const entry of page) {
      yield await parsed(id, entry)
      if (slices.isDue()) await slices.pause()
    }
  }
}

/** Checks the seal of each entry; `size` is in bytes of its JSON. @throws LogUntrusted, SessionStoreError */
export async function * readGenuine (
  store: SessionStore, seals: Seals, id: string, after: LogPosition | undefined
): AsyncGenerator<{ readonly transition: LogEntry, readonly size: number }> {
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

/** A long entry waits for its turn, so that many readers of long logs do not block the process. */
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

const MOST = 1000

/** Share of Node's heap, and bytes; the smaller counts. */
const [HEAP_SHARE, MOST_BYTES] = [1 / 8, 256 * 1024 * 1024]

/** Assumed bytes of a session without the texts of its log. */
const OWN_BYTES = 4096

/** In ms: followers of an ended session still read its last entries. */
const ENDED_FOR = 5000

export class HotSessions {
  readonly #sessions = new LRUCache<string, Session>({
    max: MOST,
    maxSize: Math.min(MOST_BYTES, Math.floor(getHeapStatistics().heap_size_limit * HEAP_SHARE)),
    // Engines keep the log's texts, mostly two bytes per character in memory.
    sizeCalculation: ({ bytes }) => OWN_BYTES + 2 * bytes
  })

  get (id: string): Session | undefined {
    return this.#sessions.get(id)
  }

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

/** Remembered ids of tampered logs, so that each is reported once. */
const UNTRUSTED = 1000

/** An attempt fails when another writer was first. */
const END_ATTEMPTS = 5

/** Appends while the store does not answer. */
const APPEND_ATTEMPTS = 8

/** The store has lost entries that it had confirmed. */
export class LogLost extends Error {
  override readonly name = 'LogLost'

  /** `undefined` when no entry is left. */
  readonly top: LogPosition | undefined

  constructor (top: LogPosition | undefined, lost: number) {
    super(`transitions from ${(top?.seq ?? 0) + 1} to ${lost} are gone`)
    this.top = top
  }
}

/** Does what has to be done before a log entry is written, and after; called again with each attempt. */
export type AroundAppend = (append: Append, write: () => Promise<Appended>) => Promise<Appended>

export class SessionLog {
  readonly #store: SessionStore
  readonly #engines: Engines
  readonly #seals: Seals
  readonly #log: Log
  readonly #by: string
  readonly #around: AroundAppend
  readonly #hot = new HotSessions()
  readonly #mutex = new KeyedMutex()

  readonly #untrusted = new LRUCache<string, true>({ max: UNTRUSTED })

  constructor (store: SessionStore, engines: Engines, seals: Seals, log: Log, by: string, around: AroundAppend = (_append, write) => write()) {
    this.#store = store
    this.#engines = engines
    this.#seals = seals
    this.#log = log
    this.#by = by
    this.#around = around
  }

  /** `undefined` for an unknown session. With a foreign entry: the session before it, as `failed`. @throws EngineDiverged, EngineUnknown, SessionStoreError */
  async load (id: string): Promise<Session | undefined> {
    // One after the other: in parallel, each load would hold all of a long log in memory.
    return await this.#mutex.run(id, () => this.#load(id))
  }

  async #load (id: string): Promise<Session | undefined> {
    let session = this.#hot.get(id)
    try {
      for await (const { transition, size } of readGenuine(this.#store, this.#seals, id, session)) {
        const next: Session = foldLogEntry(id, session, transition, this.#engines)
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

  /** The owner can see what an untrusted session was, but nothing of it is done. */
  async #untrustedStart (id: string): Promise<Session | undefined> {
    try {
      const first = await this.transition(id, 1)
      return first && foldLogEntry(id, undefined, first, this.#engines)
    } catch (error) {
      if (error instanceof SessionStoreError) throw error
      // Who wrote the entry can have written anything.
      return undefined
    }
  }

  /** Only the first entry of the log is read. @throws SessionStoreError */
  async ownerOf (id: string): Promise<string | undefined> {
    const known = this.#hot.peek(id)
    if (known !== undefined) return known.start.owner
    try {
      const log = readGenuine(this.#store, this.#seals, id, undefined)
      const first = await log.next()
      await log.return(undefined)
      return first.done !== true && first.value.transition.fact.kind === 'started' ? first.value.transition.fact.start.owner : undefined
    } catch (error) {
      if (!(error instanceof LogUntrusted)) throw error
      return (await this.load(id))?.start.owner
    }
  }

  /** Logs once, and ends the session. */
  async #distrust (id: string, { message }: LogUntrusted): Promise<void> {
    if (this.#untrusted.has(id)) return
    this.#untrusted.set(id, true)
    this.#log.error(
      { session: id, code: 'LOG_UNTRUSTED', reason: message },
      'somebody else has written to the log of a session; nothing of it is done any more'
    )
    await this.stopBroken(id, { code: 'LOG_UNTRUSTED', message })
  }

  /** @throws SessionStoreError */
  async transition (id: string, seq: number): Promise<LogEntry | undefined> {
    const read = readShown(this.#store, id, seq - 1)
    const { value } = await read.next()
    await read.return(undefined)
    return value
  }

  /** Outdated when another replica has added to the log. */
  peek (id: string): Session | undefined {
    return this.#hot.peek(id)
  }

  /**
   * Appends a log entry to a session's log. Retries with the same token while the store does not answer.
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
    const outcome = await pRetry(() => this.#write(append), {
      retries: APPEND_ATTEMPTS - 1,
      minTimeout: 50,
      maxTimeout: 2000,
      shouldRetry: ({ error }) => error instanceof SessionStoreError
    })
    if (outcome === 'ok' || outcome === 'again') {
      // The lease counts from the first attempt: late in it, another replica may have taken the session.
      const isDoubtful = outcome === 'again' || (typeof due === 'number' && performance.now() - sent > due / 2)
      if (driver !== undefined && isDoubtful && !await this.#isDriven(session, driver)) return false
      this.#hot.put({ ...session, bytes: session.bytes + Buffer.byteLength(append.entry.text) })
      return true
    }
    this.#hot.drop(session.id)
    if (before !== undefined && (outcome.top === undefined || outcome.top.seq < before.seq)) throw new LogLost(outcome.top, before.seq)
    return false
  }

  async #write (append: Append): Promise<Appended> {
    return await this.#around(append, () => this.#store.append(append))
  }

  async #isDriven ({ id, token }: Session, driver: string): Promise<boolean> {
    const head = await this.#store.head(id)
    return head?.token === token && head.driver === driver
  }

  #entryOf (id: string, before: LogPosition | undefined, transition: LogEntry): StoredLogEntry {
    const unsealed = { seq: transition.seq, text: stringifyJson(transition) }
    return { ...unsealed, seal: this.#seals.sealOf(id, before?.token ?? '', unsealed) }
  }

  /** Ends a session without reading its log. @param top @default the position in the session's head */
  async stopBroken (id: string, { code, message, top: given }: {
    readonly code: string,
    readonly message: string,
    readonly top?: LogPosition | undefined
  }): Promise<void> {
    this.#hot.drop(id)
    const head = await this.#store.head(id)
    if (head === undefined || ENDED.has(head.status)) return
    const failed = { ...head, status: 'failed', isAsking: false, askedAt: undefined, driver: undefined } as const
    const fact = { kind: 'stopped', by: 'fault', reason: `${code}: ${message}` } as const
    const notices = [{ type: 'error', data: { code, message } }, { type: 'done', data: { status: 'failed' } }] as const
    let after: LogPosition | undefined = { seq: given?.seq ?? head.seq, token: given?.token ?? head.token }
    // After tampering the head does not name the last entry: the refused append tells it for the next attempt.
    await retryChange(END_ATTEMPTS, async () => {
      if (after === undefined) return true
      const [seq, at, token]: [number, number, string] = [after.seq + 1, Date.now(), randomUUID()]
      const transition: LogEntry = {
        seq,
        at,
        token,
        by: this.#by,
        fact,
        begun: [],
        held: [],
        denied: [],
        notices
      }
      const outcome = await this.#write({
        id,
        after,
        transition,
        entry: this.#entryOf(id, after, transition),
        head: { ...failed, seq, token, problem: problemIn(fact, notices), updatedAt: at },
        due: 'never'
      })
      if (typeof outcome === 'string' || given !== undefined) return true
      after = outcome.top
      return undefined
    })
  }
}
