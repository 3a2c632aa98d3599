import { createHash, randomUUID } from 'node:crypto'
import { type Caller } from '../../access/caller.ts'
import { forkImpossible, forksTooLarge, keyReused, sessionEnded } from '../../base/errors.ts'
import { forkSession, ForkTooLarge, NothingToFork } from '../../session/fork.ts'
import { type Start } from '../../session/model.ts'
import { LogUntrusted } from '../../session/seal.ts'
import { type Session } from '../../session/session.ts'
import { KeyedMutex } from '../../session/keyed-mutex.ts'
import { type Opened, type RunningSessions } from './running-sessions.ts'
import { ownSession, requireAllowed, requireUsable } from './rules/session-rights.ts'
import { MAX_COPIED, requireRoom, roomForCopies } from './rules/session-room.ts'

/** Makes what a session starts with, once it has an id. */
export type MakeStart = (session: string) => Promise<Omit<Start, 'owner'>> | Omit<Start, 'owner'>

/** How sessions come to be: started, or forked from another one. Those of one caller begin one after the other: each counts those before it. */
export class SessionStarts {
  readonly #running: RunningSessions
  readonly #ofCaller = new KeyedMutex()

  constructor (running: RunningSessions) {
    this.#running = running
  }

  /**
   * Starts a session, or gives the one that the same caller has started with the same key.
   * @param key of the request
   * @throws DEFINITION_NOT_FOUND, TOO_MANY_SESSIONS, IDEMPOTENCY_KEY_REUSED, SESSIONS_UNAVAILABLE, and what `make` throws
   */
  async start (caller: Caller, make: MakeStart, key?: string): Promise<Session> {
    const id = key === undefined ? newId() : idOfKey(caller, key)
    const start = await make(id)
    requireAllowed(caller, start.definition)
    return await this.#running.use(({ store, runner }) => this.#ofCaller.run(caller.name, async () => {
      await requireRoom(store, caller.name, id)
      const session = await runner.start(id, { ...start, owner: caller.name })
      if (session.start.definition !== start.definition) throw keyReused(session.start.definition)
      return session
    }))
  }

  /**
   * A new session that goes on from where this one waited.
   * @param upTo the last transition that may be copied. @default the last of all
   * @throws SESSION_NOT_FOUND, FORK_IMPOSSIBLE, TOO_MANY_SESSIONS, SESSION_ENDED
   */
  async fork (caller: Caller, id: string, upTo?: number): Promise<Session> {
    return await this.#running.use(async opened => {
      const session = await ownSession(opened.runner, caller, id)
      requireUsable(caller, session)
      // Nobody would wait for the copy of a child.
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

/** A key that is sent again names the same session. */
function idOfKey (caller: Caller, key: string): string {
  return createHash('sha256').update(JSON.stringify([caller.name, key])).digest('hex').slice(0, 32)
}
