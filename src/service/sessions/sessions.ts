import { type Caller } from '../../access/caller.ts'
import { refusalBy, type RightsWatch } from '../../access/rights-watch.ts'
import { requestInvalid, sessionNotFound } from '../../base/errors.ts'
import { type Followed, followSession } from '../../session/follow.ts'
import { type Transition } from '../../session/model.ts'
import { readShown } from '../../session/read-log.ts'
import { type Head } from '../../session/model.ts'
import { type ListQuery } from '../../session/session-store.ts'
import { type Below, childrenOf, type Tree, treeOf, withBelow } from './reading/below.ts'
import { type JsonObject } from '../../base/json.ts'
import { tellOfWaiting } from './reading/asked-below.ts'
import { available, begun } from './reading/available.ts'
import { type LastMessages, type MessagePage, type Place, readLastMessages, readMessages } from './reading/messages.ts'
import { type Use, usesIn } from './reading/uses.ts'
import { type RunningSessions } from './running-sessions.ts'
import { isOwn, isSessionId, ownSession, requireOwn } from './rules/session-rights.ts'

/** Gives the caller who follows a session's events, with the rights that the caller has now. An error that this function throws ends the events. */
export type Follower = () => Caller

/** A page of a list of sessions (dialogues with agents, runs of skills, plans), the newest first. */
export interface SessionPage {
  /** `reason`: why this process can neither open a session nor go on with it. */
  readonly heads: ReadonlyArray<Head & Below & { readonly reason?: string }>
  readonly next: string | undefined
}

/** Reads sessions for callers. A caller is allowed to see its own sessions, and an admin all. */
export class Sessions {
  readonly #running: RunningSessions
  readonly #rights: RightsWatch

  constructor (running: RunningSessions, rights: RightsWatch) {
    this.#running = running
    this.#rights = rights
  }

  /**
   * Lists sessions, the newest first. Sessions that other sessions have started are left out, unless the query names their parent or root.
   * @throws REQUEST_INVALID for a cursor that no page has given
   */
  async list (caller: Caller, query: Omit<ListQuery, 'owner'>): Promise<SessionPage> {
    return await this.#running.use(async ({ store, engines }) => {
      const { parent, root = parent } = query
      if (root !== undefined && !isSessionId(root)) return { heads: [], next: undefined }
      // The store finds the descendants of a session only by the root of their tree, so the root is looked up.
      const top = parent === undefined ? root : (await store.head(parent))?.root ?? root
      const wanted = { ...query, ...(top === undefined ? {} : { root: top }) }
      try {
        const { heads, next } = await store.list(caller.roles.has('admin') ? wanted : { ...wanted, owner: caller.name })
        const told = await withBelow(store, heads)
        return { heads: told.map(head => engines.has(head.engine) ? head : { ...head, reason: `no engine ${head.engine} is here` }), next }
      } catch (error) {
        throw error instanceof RangeError ? requestInvalid(`querystring: after: ${error.message}`, { part: 'querystring' }) : error
      }
    })
  }

  /** The sessions that a session has started, the first one first. @throws SESSION_NOT_FOUND */
  async children (caller: Caller, id: string): Promise<ReadonlyArray<Head & Below>> {
    return await this.#running.use(async ({ store, runner }) => await childrenOf(store, await ownSession(runner, caller, id)))
  }

  /** A session and all its descendants. @throws SESSION_NOT_FOUND */
  async tree (caller: Caller, id: string): Promise<Tree> {
    return await this.#running.use(async ({ store, runner }) => {
      await requireOwn(runner, caller, id)
      const head = await store.head(id)
      if (head === undefined) throw sessionNotFound(id)
      return await treeOf(store, head)
    })
  }

  /**
   * Gives the events of a session after a transition (recorded step), and then each new event.
   * @param who gives the follower with the rights that the follower has now; called before each event, and once a second
   * @throws SESSION_NOT_FOUND before the first event, and as soon as the follower is not allowed to see the session any more
   */
  async follow (who: Follower, id: string, after: number, signal: AbortSignal): Promise<AsyncGenerator<Followed>> {
    return await this.#running.use(async ({ store, runner }) => {
      const owner = await requireOwn(runner, who(), id)
      const greet = async (): Promise<readonly JsonObject[]> => {
        const session = await runner.load(id)
        return session === undefined ? [] : await tellOfWaiting({ store, runner }, session)
      }
      const mayFollow = (): void => { if (!isOwn(who(), { start: { owner } })) throw sessionNotFound(id) }
      return whileAllowed(this.#rights, mayFollow, lost => available(followSession(store, id, after, AbortSignal.any([signal, lost]), greet)))
    })
  }

  /**
   * The transitions (recorded steps) of a session that come after a given one, read from the log one by one as they are asked for.
   * @throws SESSION_NOT_FOUND before the first transition
   */
  async audit (caller: Caller, id: string, after: number): Promise<AsyncGenerator<Transition>> {
    return await this.#running.use(async ({ store, runner }) => {
      await requireOwn(runner, caller, id)
      return await begun(available(readShown(store, id, after)))
    })
  }

  /** All transitions that the log of a session has now. @throws SESSION_NOT_FOUND */
  async transitions (caller: Caller, id: string): Promise<readonly Transition[]> {
    const all: Transition[] = []
    for await (const transition of await this.audit(caller, id, 0)) all.push(transition)
    return all
  }

  /** A page of the messages of a session. @throws SESSION_NOT_FOUND */
  async messages (caller: Caller, id: string, after: Place, limit: number): Promise<MessagePage> {
    return await this.#running.use(async ({ store, runner }) => {
      await requireOwn(runner, caller, id)
      return await readMessages(readShown(store, id, Math.max(0, after.seq - 1)), after, limit)
    })
  }

  /** The last messages of a session. @throws SESSION_NOT_FOUND */
  async lastMessages (caller: Caller, id: string, limit: number): Promise<LastMessages> {
    return await this.#running.use(async ({ store, runner }) => {
      await requireOwn(runner, caller, id)
      const head = await store.head(id)
      return await readLastMessages(after => available(readShown(store, id, after)), head?.seq ?? 0, limit)
    })
  }

  /** The models, tools, checks and targets that a session has used, and how often. @throws SESSION_NOT_FOUND */
  async uses (caller: Caller, id: string): Promise<readonly Use[]> {
    return await usesIn(await this.audit(caller, id, 0))
  }
}

/**
 * Passes events on while their follower may see them.
 * @param check throws when the follower may not
 * @param follow begins to follow; its events end when its signal aborts
 * @throws what `check` throws
 */
async function * whileAllowed (rights: RightsWatch, check: () => void, follow: (lost: AbortSignal) => AsyncGenerator<Followed>): AsyncGenerator<Followed> {
  const lost = new AbortController()
  const leave = rights.watch(() => refusalBy(check), why => { lost.abort(why) })
  try {
    for await (const each of follow(lost.signal)) {
      check()
      yield each
    }
    if (lost.signal.aborted) throw lost.signal.reason
  } finally {
    leave()
  }
}
