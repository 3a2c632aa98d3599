import { createHash, randomUUID } from 'node:crypto'
import { type Caller } from '../../access/caller.ts'
import { forkImpossible, forksTooLarge, keyReused, sessionEnded } from '../../base/errors.ts'
import { forkSession, ForkTooLarge, NothingToFork } from '../../session/fork.ts'
import { type Start } from '../../session/model.ts'
import { LogUntrusted } from '../../session/seal.ts'
import { type Session } from '../../session/session.ts'
import { KeyedMutex } from '../../session/keyed-mutex.ts'
import { type Opened, type RunningSessions } from './running-sessions.ts'
import { ownSession, requireUsable } from './rules/session-rights.ts'
import { MAX_COPIED, requireRoom, roomForCopies } from './rules/session-room.ts'

/** Makes the recorded start of a session (everything that it begins with). @param session the id that the session will have */
export type MakeStart = (session: string) => Promise<Omit<Start, 'owner'>> | Omit<Start, 'owner'>

/**
 * Begins sessions: new ones, and copies (forks) of existing ones. The sessions of one caller begin one after the other, so that the limit
 * of open sessions is kept.
 */
export class SessionStarts {
  readonly #running: RunningSessions
  readonly #ofCaller = new KeyedMutex()

  constructor (running: RunningSessions) {
    this.#running = running
  }

  /**
   * Starts a session, or finds the one that the same caller has started with the same idempotency key.
   * @param make makes the recorded start of the session
   * @param key the idempotency key of the request
   * @throws DEFINITION_NOT_FOUND, TOO_MANY_SESSIONS, IDEMPOTENCY_KEY_REUSED, SESSIONS_UNAVAILABLE, and what `make` throws
   */
  async start (caller: Caller, make: MakeStart, key?: string): Promise<Session> {
    const id = key === undefined ? newId() : idOfKey(caller, key)
    const start = await make(id)
    requireUsable(caller, { ...start, owner: caller.name })
    return await this.#running.use(({ store, runner }) => this.#ofCaller.run(caller.name, async () => {
      await requireRoom(store, caller.name, id)
      const session = await runner.start(id, { ...start, owner: caller.name })
      if (session.start.definition !== start.definition) throw keyReused(session.start.definition)
      return session
    }))
  }

  /**
   * Forks a session: makes a copy that goes on from a transition (recorded step) at which the session waited.
   * @param upTo number of a transition; no transition after it is copied. @default the number of the session's last transition
   * @throws SESSION_NOT_FOUND, FORK_IMPOSSIBLE, TOO_MANY_SESSIONS, SESSION_ENDED
   */
  async fork (caller: Caller, id: string, upTo?: number): Promise<Session> {
    return await this.#running.use(async opened => {
      const session = await ownSession(opened.runner, caller, id)
      requireUsable(caller, session.start, session)
      // A child session cannot be forked: its result goes to its parent, and no parent would wait for the copy.
      if (session.start.parent !== undefined) throw forkImpossible(id)
      return await this.#ofCaller.run(caller.name, () => forkWithin(opened, caller, id, upTo))
    })
  }
}

async function forkWithin ({ store, engines, seals }: Opened, caller: Caller, id: string, upTo: number | undefined): Promise<Session> {
  await requireRoom(store, caller.name)
  const most = await roomForCopies(store, caller.name)
  try {
    return await forkSession({ store, engines, seals, from: id, to: newId(), owner: caller.name, upTo, most, by: caller.name })
  } catch (error) {
    if (error instanceof LogUntrusted) throw sessionEnded(id, `LOG_UNTRUSTED: ${error.message}`)
    if (error instanceof ForkTooLarge) throw forksTooLarge(MAX_COPIED / 1024 ** 2)
    throw error instanceof NothingToFork ? forkImpossible(id) : error
  }
}

function newId (): string {
  return randomUUID().replaceAll('-', '')
}

/** Makes the id of a session from an idempotency key: the same key of the same caller gives the same id. */
function idOfKey (caller: Caller, key: string): string {
  return createHash('sha256').update(JSON.stringify([caller.name, key])).digest('hex').slice(0, 32)
}
