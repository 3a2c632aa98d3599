import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import pRetry from 'p-retry'
import { type Advanced } from './advance.ts'
import { type Engines, foldTransition } from './fold.ts'
import { ENDED, type Position, type Transition } from './model.ts'
import { headOf, type Session } from './session.ts'
import { type Append, type SessionStore, SessionStoreError } from './store/session-store.ts'

/** How many sessions are kept in memory between two of their transitions. */
const HOT_SESSIONS = 1000

/** How often an append is sent when the store does not answer. */
const APPEND_ATTEMPTS = 8

/** The store has lost transitions that were acknowledged. */
export class LogLost extends Error {
  override readonly name = 'LogLost'

  /** The last one that is left. */
  readonly top: Position | undefined

  constructor (top: Position | undefined, lost: number) {
    super(`transitions from ${(top?.seq ?? 0) + 1} to ${lost} are gone`)
    this.top = top
  }
}

/** Reads sessions out of their logs, and adds to them. */
export class SessionLog {
  readonly #store: SessionStore
  readonly #engines: Engines
  readonly #hot = new LRUCache<string, Session>({ max: HOT_SESSIONS })

  constructor (store: SessionStore, engines: Engines) {
    this.#store = store
    this.#engines = engines
  }

  /**
   * The session as the log says it is; `undefined` for one that nobody has begun.
   * @throws EngineDiverged, EngineUnknown, SessionStoreError
   */
  async load (id: string): Promise<Session | undefined> {
    let session = this.#hot.get(id)
    for await (const page of this.#store.read(id, session?.seq ?? 0)) {
      for (const transition of page) session = foldTransition(id, session, transition, this.#engines)
    }
    if (session !== undefined) this.#hot.set(id, session)
    return session
  }

  /** The replica that acts for a session by its head: who has appended to it last, or taken it since. @throws SessionStoreError */
  async driverOf (id: string): Promise<string | undefined> {
    return (await this.#store.head(id))?.driver
  }

  /** One transition of a session, by its number. @throws SessionStoreError */
  async transition (id: string, seq: number): Promise<Transition | undefined> {
    const pages = this.#store.read(id, seq - 1)[Symbol.asyncIterator]()
    const first = await pages.next()
    await pages.return?.()
    return first.done === true ? undefined : first.value[0]
  }

  /** What is in memory of a session, which others may have outdated. */
  peek (id: string): Session | undefined {
    return this.#hot.peek(id)
  }

  /**
   * Writes a transition; sends it again, with the same token, while the store does not answer.
   * @param driver see `Head`
   * @returns false when another writer was first, or may be by now: then it is to be computed anew, and nothing of it is done
   * @throws LogLost, SessionStoreError
   */
  async append ({ session, transition }: Advanced, before: Position | undefined, driver: string | undefined, due: Append['due']): Promise<boolean> {
    const append: Append = { id: session.id, after: before && { seq: before.seq, token: before.token }, transition, head: headOf(session, driver), due }
    const sent = performance.now()
    const outcome = await pRetry(() => this.#store.append(append), { retries: APPEND_ATTEMPTS - 1, minTimeout: 50, maxTimeout: 2000, shouldRetry: ({ error }) => error instanceof SessionStoreError })
    if (outcome === 'ok' || outcome === 'again') {
      // A lease counts from the first sending: where much of it is gone, another replica may have taken the session.
      const isDoubtful = outcome === 'again' || (typeof due === 'number' && performance.now() - sent > due / 2)
      if (driver !== undefined && isDoubtful && !await this.#isDriven(session, driver)) return false
      this.#hot.set(session.id, session)
      return true
    }
    this.#hot.delete(session.id)
    if (before !== undefined && (outcome.top === undefined || outcome.top.seq < before.seq)) throw new LogLost(outcome.top, before.seq)
    return false
  }

  /** Whether a session is still as it was left, and its driver the same. */
  async #isDriven ({ id, token }: Session, driver: string): Promise<boolean> {
    const head = await this.#store.head(id)
    return head?.token === token && head.driver === driver
  }

  /**
   * Ends a session that cannot be gone on with, without a look at its log.
   * @param top its last transition; the one that its head names when left out
   */
  async stopBroken (id: string, { code, message, by, top }: { readonly code: string, readonly message: string, readonly by: string, readonly top?: Position | undefined }): Promise<void> {
    this.#hot.delete(id)
    const head = await this.#store.head(id)
    if (head === undefined || ENDED.has(head.status)) return
    const after = { seq: top?.seq ?? head.seq, token: top?.token ?? head.token }
    const [seq, at, token] = [after.seq + 1, Date.now(), randomUUID()]
    const notices = [{ type: 'error', data: { code, message } }, { type: 'done', data: { status: 'failed' } }] as const
    const transition = { seq, at, token, by, fact: { kind: 'stopped', by: 'fault', reason: `${code}: ${message}` } as const, begun: [], held: [], denied: [], notices }
    await this.#store.append({ id, after, transition, head: { ...head, seq, token, status: 'failed', isAsking: false, updatedAt: at, driver: undefined }, due: 'never' })
  }
}
