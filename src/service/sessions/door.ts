import { randomUUID } from 'node:crypto'
import { type Caller } from '../../access/caller.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { approvalId } from '../../session/approval.ts'
import { type Followed } from '../../session/follow.ts'
import { type Action } from '../../session/model.ts'
import { openIn, type Session } from '../../session/session.ts'
import { type Approvals, type NamedAnswer, nothingWaits } from './approvals.ts'
import { boundedInput } from './rules/bounded-input.ts'
import { type RunningSessions } from './running-sessions.ts'
import { type SessionKind, type Wanted } from './kinds/session-kind.ts'
import { isOwn, ownSession, requireUsable } from './rules/session-rights.ts'
import { takesTypedWords, type TypedWord, typedWordIn } from './rules/typed-words.ts'
import { type SessionStarts } from './session-starts.ts'
import { type Follower, type Sessions } from './sessions.ts'
import { settle, type Settled, untilSettled } from './settle.ts'

/** How long a visitor waits for a session by default, in ms. */
const PATIENCE = 30_000

/** The sender of one request, one frame of a socket, or one line of a terminal. */
export interface Visitor {
  readonly caller: Caller
  /** The id of the request, for logs and traces. */
  readonly requestId: string
  /** The idempotency key of the request: a request that is sent again with the same key counts once. */
  readonly key?: string | undefined
  /** Aborts when the visitor has left. */
  readonly signal: AbortSignal
  /** How long the visitor waits for the session, in ms; 0 for one who follows its events. @default 30 s */
  readonly patience?: number | undefined
}

/** The state of a session at the end of a visit. */
export interface Progress extends Settled {
  /** Number of the last transition before this visit: what the visit caused comes after it. */
  readonly after: number
  /** Whether the visitor may read all of the session. An approver who does not own it is shown only the approvals that wait. */
  readonly isOwn: boolean
}

/** What a user sends to a session: a text, or an action that the session's engine knows. */
export interface UserInput {
  readonly text?: string | undefined
  readonly action?: Action | undefined
}

/** Names the approval that a visitor saw: by its id, or by the digest of what was shown. */
export type Shown = Pick<NamedAnswer, 'approvalId' | 'digest'>

/** Names an approval that a visitor allows, and the command that is to run in place of the one shown, if any. */
export type Allowed = Shown & Pick<NamedAnswer, 'command' | 'isStrict'>

export interface DoorOptions {
  readonly running: RunningSessions
  readonly sessions: Sessions
  readonly starts: SessionStarts
  readonly approvals: Approvals
}

/**
 * The only way from a request, a socket or a terminal into a session. Each visit checks once what the visitor may do, under the
 * visitor's own name. After that the session is read by its id.
 */
export class SessionDoor {
  readonly #options: DoorOptions

  constructor (options: DoorOptions) {
    this.#options = options
  }

  /**
   * Starts a session of the given kind, and waits until it settles.
   * @throws what `start` of the kind throws; TOO_MANY_SESSIONS, IDEMPOTENCY_KEY_REUSED, SESSIONS_UNAVAILABLE
   */
  async start<R> (kind: SessionKind<R>, visitor: Visitor, generation: Generation, request: R): Promise<Progress> {
    const { caller, requestId, key } = visitor
    const { id } = await this.#options.starts.start(caller, session => kind.start(request, { caller, generation, session, requestId }), key)
    return await this.#settled(visitor, id, 0)
  }

  /** Finds a session of the caller's own. @throws SESSION_NOT_FOUND */
  async get (wanted: Wanted, caller: Caller, id: string): Promise<Session> {
    return await this.#options.running.use(({ runner }) => ownSession(runner, caller, id, wanted))
  }

  /**
   * Says something to a session of the visitor's own. In a skill, the text `skill:skip` skips the proposed command, and `skill:cancel`
   * ends the skill.
   * @throws SESSION_NOT_FOUND, SESSION_BUSY, SESSION_ENDED, SESSION_FULL, REQUEST_INVALID
   */
  async say (wanted: Wanted, visitor: Visitor, id: string, { text = '', action }: UserInput): Promise<Progress> {
    const { caller, key = randomUUID() } = visitor
    const word = action === undefined ? typedWordIn(text) : undefined
    if (word !== undefined && takesTypedWords(await this.get(wanted, caller, id))) return await this.#obey(wanted, visitor, id, word)
    const { seq } = await this.#options.running.use(async ({ runner }) => {
      requireUsable(caller, await ownSession(runner, caller, id, wanted))
      return await runner.input(id, { id: key, by: caller.name, text, action: boundedInput(text, action) })
    })
    return await this.#settled(visitor, id, seq - 1)
  }

  /**
   * Allows an approval that waits in a session. Any caller with the role `approve` may do so, whoever owns the session.
   * @throws ROLE_MISSING, REQUEST_INVALID, SESSION_NOT_FOUND, SESSION_BUSY when nothing waits, SESSION_ENDED, APPROVAL_DECIDED, APPROVAL_OUTDATED
   */
  async approve (wanted: Wanted, visitor: Visitor, id: string, allowed: Allowed): Promise<Progress> {
    const { session } = await this.#options.approvals.answer(visitor.caller, id, { ...allowed, decision: 'approve' }, wanted)
    return await this.#settled(visitor, id, session.seq - 1)
  }

  /**
   * Refuses an approval that waits in a session of the visitor's own.
   * @param otherwise what is said to the session instead when no approval waits
   * @param shown the approval that is refused. @default the first that waits now
   * @throws SESSION_NOT_FOUND, SESSION_BUSY, SESSION_ENDED, REQUEST_INVALID, APPROVAL_DECIDED, APPROVAL_OUTDATED
   */
  async refuse (wanted: Wanted, visitor: Visitor, id: string, otherwise?: UserInput, shown?: Shown): Promise<Progress> {
    const { caller } = visitor
    const before = await this.get(wanted, caller, id)
    const [held] = openIn(before, 'held')
    const isNamed = shown?.approvalId !== undefined || shown?.digest !== undefined
    if (held === undefined && !isNamed) {
      if (otherwise === undefined) throw nothingWaits(before)
      return await this.say(wanted, visitor, id, otherwise)
    }
    const which = shown ?? { approvalId: approvalId(id, held?.effect.id ?? '') }
    const { session } = await this.#options.approvals.answer(caller, id, { ...which, decision: 'reject' }, wanted)
    return await this.#settled(visitor, id, session.seq - 1)
  }

  /** Ends a session of the caller's own. @throws SESSION_NOT_FOUND, SESSION_BUSY */
  async cancel (wanted: Wanted, caller: Caller, id: string): Promise<Session> {
    return await this.#options.running.use(async ({ runner }) => {
      await ownSession(runner, caller, id, wanted)
      return await runner.stop(id, 'cancel', `cancelled by ${caller.name === '' ? 'its user' : caller.name}`)
    })
  }

  /**
   * The events of a session: those since a visit began, then each new one, until the session waits for somebody or has ended.
   * @param who gives the visitor with his present rights; it is called before each event
   * @throws SESSION_NOT_FOUND, as soon as the session is not the visitor's any more
   */
  async * events (who: Follower, { session: { id }, after, isOwn }: Progress, signal: AbortSignal): AsyncGenerator<Followed, Progress> {
    const { running, sessions } = this.#options
    const events = await sessions.follow(who, id, after, signal)
    const settled = yield * untilSettled(events, running, id)
    return { ...settled, after, isOwn }
  }

  async #obey (wanted: Wanted, visitor: Visitor, id: string, word: TypedWord): Promise<Progress> {
    if (word === 'skip') return await this.refuse(wanted, visitor, id, { action: { name: 'skip', data: {} } })
    const { seq } = await this.cancel(wanted, visitor.caller, id)
    return await this.#settled(visitor, id, seq - 1)
  }

  async #settled ({ caller, signal, patience = PATIENCE }: Visitor, id: string, after: number): Promise<Progress> {
    const settled = await settle(this.#options.running, id, after, { signal, patience })
    return { ...settled, after, isOwn: isOwn(caller, settled.session) }
  }
}
