import { createHash, randomUUID } from 'node:crypto'
import { type Caller } from '../../access/caller.ts'
import { definitionNotFound, forkImpossible, requestInvalid, sessionNotFound, sessionsUnavailable, tooManySessions } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'
import { type Log } from '../../base/log.ts'
import { digestOf } from '../../session/digest.ts'
import { contentOf } from '../../session/effect-content.ts'
import { type Engines } from '../../session/fold.ts'
import { type Followed, followSession } from '../../session/follow.ts'
import { forkSession, NothingToFork } from '../../session/fork.ts'
import { type Action, type Decision, type Start, type Transition } from '../../session/model.ts'
import { type Performer } from '../../session/performer.ts'
import { SessionRunner } from '../../session/runner.ts'
import { openIn, type Session } from '../../session/session.ts'
import { type ListQuery, type SessionPage, type SessionStore, SessionStoreError } from '../../session/store/session-store.ts'
import { type MessagePage, type Place, readMessages } from './messages.ts'

/** Sessions of one caller that have not ended. */
const MAX_OPEN = 1000

export interface SessionsOptions {
  /** Opens the store and loads what runs sessions, when they are first used. */
  readonly open: () => Promise<{ readonly store: SessionStore, readonly engines: Engines }>
  readonly performer: Performer
  /** Ends connections of targets, when no session runs any more. */
  readonly closeTargets: () => Promise<void>
  readonly log: Log
  /** Called with each transition that this process has written. */
  readonly onWritten?: ((session: Session, transition: Transition) => void) | undefined
  readonly onEnded: (session: Session) => void
  /** Called with each session that waits now or has ended. */
  readonly onSettled?: ((session: Session) => Promise<void>) | undefined
}

/** A request that starts a session. */
export interface StartRequest {
  readonly caller: Caller
  /** Where it depends on the id of the session, a function of it. */
  readonly start: Omit<Start, 'owner'> | ((session: string) => Omit<Start, 'owner'>)
  /** Of the request: one that is sent again starts no second session. */
  readonly key?: string | undefined
}

/** What a user sends to a session: words, or something else that its engine knows. */
export interface UserInput {
  readonly text?: string
  readonly action?: Action | undefined
  /** Of the request: one that is sent again counts once. */
  readonly key?: string | undefined
}

/** A person's answer to an approval. */
export interface Answer {
  readonly decision: Decision
  readonly reason?: string | undefined
  /** In place of the command that was shown. */
  readonly command?: string | undefined
  /** Of what was shown: an answer to anything else is refused. */
  readonly digest?: string | undefined
}

/** An effect that waits for a person. */
export interface Approval {
  readonly session: Session
  readonly effect: string
  readonly rule: string
  /** Of what is decided about. */
  readonly digest: string
  readonly content: JsonObject
}

interface Opened {
  readonly store: SessionStore
  readonly engines: Engines
  readonly runner: SessionRunner
}

/** Sessions as callers have them: each its own, and none is loaded before the first is used. */
export class Sessions {
  readonly #options: SessionsOptions
  #opened: Promise<Opened> | undefined

  constructor (options: SessionsOptions) {
    this.#options = options
  }

  /** Goes on with what an earlier process has left; later requests do it too. @throws SESSIONS_UNAVAILABLE */
  async open (): Promise<void> {
    await this.#use(async () => {})
  }

  /** Starts a session. @throws DEFINITION_NOT_FOUND, TOO_MANY_SESSIONS, SESSIONS_UNAVAILABLE */
  async start ({ caller, start: given, key }: StartRequest): Promise<Session> {
    const id = key === undefined ? randomUUID().replaceAll('-', '') : createHash('sha256').update(JSON.stringify([caller.name, key])).digest('hex').slice(0, 32)
    const start = typeof given === 'function' ? given(id) : given
    requireAllowed(caller, start.definition)
    return await this.#use(async ({ store, runner }) => {
      await requireRoom(store, caller, id)
      return await runner.start(id, { ...start, owner: caller.name })
    })
  }

  /** A session of the caller's own. @throws SESSION_NOT_FOUND, also for one of somebody else */
  async get (caller: Caller, id: string): Promise<Session> {
    return await this.#use(({ runner }) => ownSession(runner, caller, id))
  }

  /** @throws REQUEST_INVALID for a cursor that no page has given */
  async list (caller: Caller, query: Omit<ListQuery, 'owner'>): Promise<SessionPage> {
    return await this.#use(async ({ store }) => {
      try {
        return await store.list(caller.roles.has('admin') ? query : { ...query, owner: caller.name })
      } catch (error) {
        throw error instanceof RangeError ? requestInvalid(`querystring: after: ${error.message}`, { part: 'querystring' }) : error
      }
    })
  }

  /** @throws SESSION_NOT_FOUND, SESSION_BUSY, SESSION_ENDED, SESSION_FULL, REQUEST_INVALID */
  async input (caller: Caller, id: string, { text = '', action, key = randomUUID() }: UserInput): Promise<Session> {
    return await this.#use(async ({ runner }) => {
      await ownSession(runner, caller, id)
      return await runner.input(id, { id: key, by: caller.name, text, action })
    })
  }

  async cancel (caller: Caller, id: string): Promise<Session> {
    return await this.#use(async ({ runner }) => {
      await ownSession(runner, caller, id)
      return await runner.stop(id, 'cancel', `cancelled by ${caller.name === '' ? 'its user' : caller.name}`)
    })
  }

  /** A new session that goes on from where this one waited. @throws FORK_IMPOSSIBLE, TOO_MANY_SESSIONS */
  async fork (caller: Caller, id: string, upTo?: number): Promise<Session> {
    return await this.#use(async ({ store, engines, runner }) => {
      await ownSession(runner, caller, id)
      await requireRoom(store, caller)
      try {
        return await forkSession(store, engines, { from: id, to: randomUUID().replaceAll('-', ''), owner: caller.name, upTo, by: caller.name })
      } catch (error) {
        throw error instanceof NothingToFork ? forkImpossible(id) : error
      }
    })
  }

  /** What happens in a session, from a transition on. @throws SESSION_NOT_FOUND before the first */
  async follow (caller: Caller, id: string, after: number, signal: AbortSignal): Promise<AsyncGenerator<Followed>> {
    return await this.#use(async ({ store, runner }) => {
      await ownSession(runner, caller, id)
      return followSession(store, id, after, signal)
    })
  }

  /** All that is in the log of a session now. @throws SESSION_NOT_FOUND */
  async transitions (caller: Caller, id: string): Promise<readonly Transition[]> {
    return await this.#use(async ({ store, runner }) => {
      await ownSession(runner, caller, id)
      const all: Transition[] = []
      for await (const page of store.read(id, 0)) all.push(...page)
      return all
    })
  }

  /** What was said in a session, a page at a time. @throws SESSION_NOT_FOUND */
  async messages (caller: Caller, id: string, after: Place, limit: number): Promise<MessagePage> {
    return await this.#use(async ({ store, runner }) => {
      await ownSession(runner, caller, id)
      return await readMessages(store.read(id, Math.max(0, after.seq - 1)), after, limit)
    })
  }

  /** What waits for a person, of all sessions: for callers with the role to approve. */
  async approvals (limit: number): Promise<readonly Approval[]> {
    return await this.#use(async ({ store, runner }) => {
      const { heads } = await store.list({ statuses: ['waiting_approval', 'running'], limit })
      const sessions = await Promise.all(heads.map(({ id }) => runner.load(id)))
      return sessions.flatMap(session => session === undefined ? [] : approvalsOf(session))
    })
  }

  /** A session and what waits in it, whoever owns it: for callers with the role to approve. @throws SESSION_NOT_FOUND */
  async approvalsIn (id: string): Promise<{ readonly session: Session, readonly held: readonly Approval[] }> {
    return await this.#use(async ({ runner }) => {
      const session = isSessionId(id) ? await runner.load(id) : undefined
      if (session === undefined) throw sessionNotFound(id)
      return { session, held: approvalsOf(session) }
    })
  }

  /** Decides; a second answer gets what the first came to. @throws SESSION_NOT_FOUND, APPROVAL_OUTDATED */
  async decide (caller: Caller, id: string, effect: string, answer: Answer): Promise<Session> {
    return await this.#use(({ runner }) => runner.decide(id, effect, { by: caller.name, ...answer }))
  }

  async close (): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined)
    await opened?.runner.close()
    await opened?.store.close()
    await this.#options.closeTargets()
  }

  async #use<T> (work: (opened: Opened) => Promise<T>): Promise<T> {
    try {
      this.#opened ??= this.#begin()
      return await work(await this.#opened)
    } catch (error) {
      if (!(error instanceof SessionStoreError)) throw error
      throw sessionsUnavailable(error.message)
    }
  }

  async #begin (): Promise<Opened> {
    const { open, performer, log, onWritten, onEnded, onSettled } = this.#options
    const { store, engines } = await open()
    const runner = new SessionRunner({ store, engines, performer, log, onEnded, ...(onWritten === undefined ? {} : { onWritten }), ...(onSettled === undefined ? {} : { onSettled }) })
    runner.open()
    return { store, engines, runner }
  }
}

/** What waits for a person in a session. */
export function approvalsOf (session: Session): readonly Approval[] {
  return openIn(session, 'held').map(({ effect, rule = '' }) => ({ session, effect: effect.id, rule, digest: digestOf(effect), content: contentOf(effect) }))
}

/** For a caller whose token does not name it, there is no such definition. @param definition as `agents/helper` */
function requireAllowed ({ runs }: Caller, definition: string): void {
  const [kind = '', path = ''] = definition.split('/')
  if (runs?.allows(`${kind}.${path}`) === false) throw definitionNotFound(kind.slice(0, -1), path, [])
}

/** @param id of the session that is to begin: one that has begun already needs no room */
async function requireRoom (store: SessionStore, caller: Caller, id?: string): Promise<void> {
  if (await store.countOpen(caller.name) < MAX_OPEN) return
  if (id === undefined || await store.head(id) === undefined) throw tooManySessions(MAX_OPEN)
}

/** Ids become names of files and keys. */
function isSessionId (id: string): boolean {
  return /^[0-9a-f]{32}$/.test(id)
}

async function ownSession (runner: SessionRunner, caller: Caller, id: string): Promise<Session> {
  const session = isSessionId(id) ? await runner.load(id) : undefined
  if (session === undefined || (session.start.owner !== caller.name && !caller.roles.has('admin'))) throw sessionNotFound(id)
  return session
}
