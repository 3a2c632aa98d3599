import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import pRetry from 'p-retry'
import { type Advanced } from './advance.ts'
import { type EngineDiverged, type Engines, foldTransition } from './fold.ts'
import { ENDED, type Position } from './model.ts'
import { headOf, type Session } from './session.ts'
import { type Append, type SessionStore, SessionStoreError } from './store/session-store.ts'

/** How many sessions are kept in memory between two of their transitions. */
const HOT_SESSIONS = 1000

/** How often an append is sent when the store does not answer. */
const APPEND_ATTEMPTS = 8

/** The store has lost transitions that were acknowledged. */
export class LogLost extends Error {
  override readonly name = 'LogLost'
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

  /** What is in memory of a session, which others may have outdated. */
  peek (id: string): Session | undefined {
    return this.#hot.peek(id)
  }

  /**
   * Writes a transition; sends it again, with the same token, while the store does not answer.
   * @param driver see `Head`
   * @returns false when another writer was first: then it is to be computed anew
   * @throws LogLost, SessionStoreError
   */
  async append ({ session, transition }: Advanced, before: Position | undefined, driver: string | undefined, due: Append['due']): Promise<boolean> {
    const append: Append = { id: session.id, after: before && { seq: before.seq, token: before.token }, transition, head: headOf(session, driver), due }
    const outcome = await pRetry(() => this.#store.append(append), { retries: APPEND_ATTEMPTS - 1, minTimeout: 50, maxTimeout: 2000, shouldRetry: ({ error }) => error instanceof SessionStoreError })
    if (outcome === 'ok' || outcome === 'again') {
      this.#hot.set(session.id, session)
      return true
    }
    this.#hot.delete(session.id)
    if (before !== undefined && (outcome.top === undefined || outcome.top.seq < before.seq)) throw new LogLost(`transitions from ${(outcome.top?.seq ?? 0) + 1} to ${before.seq} are gone`)
    return false
  }

  /** Ends a session that cannot be read, by its head alone. */
  async stopUnreadable (id: string, cause: EngineDiverged, by: string): Promise<void> {
    const head = await this.#store.head(id)
    if (head === undefined || ENDED.has(head.status)) return
    const [seq, at, token] = [head.seq + 1, Date.now(), randomUUID()]
    const reason = `ENGINE_DIVERGED: ${cause.message}`
    const notices = [{ type: 'error', data: { code: 'ENGINE_DIVERGED', message: cause.message } }, { type: 'done', data: { status: 'failed' } }] as const
    const transition = { seq, at, token, by, fact: { kind: 'stopped', by: 'fault', reason } as const, begun: [], held: [], denied: [], notices }
    await this.#store.append({ id, after: { seq: head.seq, token: head.token }, transition, head: { ...head, seq, token, status: 'failed', updatedAt: at, driver: undefined }, due: 'never' })
  }
}
