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

/** The longest time that a request waits by default for the session to need input again, in ms. */
const PATIENCE = 30_000

/** A caller who works with a session, by one request, one frame of a WebSocket, or one line at a terminal. */
export interface Visitor {
  readonly caller: Caller
  /** The id of the request, for logs and traces. */
  readonly requestId: string
  /** The idempotency key of the request: a request that is sent again with the same key counts once. */
  readonly key?: string | undefined
  /** The signal that is aborted when the visitor goes away, for example closes the connection. */
  readonly signal: AbortSignal
  /** The longest time that the visitor waits for the session to need input again, in ms; 0 for a visitor who follows the events instead. @default 30 s */
  readonly patience?: number | undefined
}

/** The state of a session after a visitor's call. */
export interface Progress extends Settled {
  /** The number of the session's last transition (recorded step) before the visitor's call. Transitions that the call has caused have higher numbers. */
  readonly after: number
  /** Whether the visitor owns the session. An approver who does not own it sees only the approvals that wait. */
  readonly isOwn: boolean
}

/** Input of a user to a session: a text, or an action that this kind of session understands. */
export interface UserInput {
  readonly text?: string | undefined
  readonly action?: Action | undefined
}

/** The approval that a visitor saw, by its id or by the digest (hash) of what was shown. */
export type Shown = Pick<NamedAnswer, 'approvalId' | 'digest'>

/** The approval that a visitor allows, and, if the visitor has edited it, the command to run in place of the one that was shown. */
export type Allowed = Shown & Pick<NamedAnswer, 'command' | 'isStrict'>

export interface DoorOptions {
  readonly running: RunningSessions
  readonly sessions: Sessions
  readonly starts: SessionStarts
  readonly approvals: Approvals
}

/**
 * The operations on sessions (dialogues with agents, runs of skills, plans) for requests, WebSockets and terminals: start, input, approval,
 * refusal and end. Each of them checks what the visitor may do.
 */
export class SessionDoor {
  readonly #options: DoorOptions

  constructor (options: DoorOptions) {
    this.#options = options
  }

  /**
   * Starts a session of this kind. The promise resolves when the session needs input or has ended, or when the visitor's patience is over.
   * @throws what `start` of the kind throws; TOO_MANY_SESSIONS, IDEMPOTENCY_KEY_REUSED, SESSIONS_UNAVAILABLE
   */
  async start<R> (kind: SessionKind<R>, visitor: Visitor, generation: Generation, request: R): Promise<Progress> {
    const { caller, requestId, key } = visitor
    const { id } = await this.#options.starts.start(caller, session => kind.start(request, { caller, generation, session, requestId }), key)
    return await this.#settled(visitor, id, 0)
  }

  /** Finds a session that the caller owns. @throws SESSION_NOT_FOUND */
  async get (wanted: Wanted, caller: Caller, id: string): Promise<Session> {
    return await this.#options.running.use(({ runner }) => ownSession(runner, caller, id, wanted))
  }

  /**
   * Finds a session that the caller owns, and whose definition, target and workspace the caller's token still allows.
   * @throws SESSION_NOT_FOUND, ROLE_MISSING, DEFINITION_NOT_FOUND, TARGET_NOT_FOUND, WORKSPACE_NOT_FOUND
   */
  async getUsable (wanted: Wanted, caller: Caller, id: string): Promise<Session> {
    const session = await this.get(wanted, caller, id)
    requireUsable(caller, session.start, session)
    return session
  }

  /**
   * Sends a text or an action to a session that the visitor owns. The promise resolves when the session waits for input again or has ended, or when
   * the visitor's patience is over. In a skill, the text `skill:skip` skips the proposed command, and `skill:cancel` ends the skill.
   * @throws SESSION_NOT_FOUND, SESSION_BUSY, SESSION_ENDED, SESSION_FULL, REQUEST_INVALID
   */
  async say (wanted: Wanted, visitor: Visitor, id: string, { text = '', action }: UserInput): Promise<Progress> {
    const { caller, key = randomUUID() } = visitor
    const word = action === undefined ? typedWordIn(text) : undefined
    if (word !== undefined && takesTypedWords(await this.get(wanted, caller, id))) return await this.#obey(wanted, visitor, id, word)
    await this.getUsable(wanted, caller, id)
    const { seq } = await this.#options.running.use(({ runner }) => runner.input(id, { id: key, by: caller.name, text, action: boundedInput(text, action) }))
    return await this.#settled(visitor, id, seq - 1)
  }

  /**
   * Allows an action that waits for approval in a session. Any caller with the role `approve` may do so, whoever owns the session.
   * @throws ROLE_MISSING, REQUEST_INVALID, SESSION_NOT_FOUND, SESSION_BUSY when nothing waits, SESSION_ENDED, APPROVAL_DECIDED,
   * APPROVAL_OUTDATED
   */
  async approve (wanted: Wanted, visitor: Visitor, id: string, { approvalId, digest, command, isStrict }: Allowed): Promise<Progress> {
    const { session } = await this.#options.approvals.answer(visitor.caller, id, { approvalId, digest, command, isStrict, decision: 'approve' }, wanted)
    return await this.#settled(visitor, id, session.seq - 1)
  }

  /**
   * Refuses an action that waits for approval in a session that the visitor owns.
   * @param otherwise the input that is sent to the session instead, if nothing waits for approval and `shown` names no approval
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
    const { approvalId: named, digest } = shown ?? { approvalId: approvalId(id, held?.effect.id ?? '') }
    const { session } = await this.#options.approvals.answer(caller, id, { approvalId: named, digest, decision: 'reject' }, wanted)
    return await this.#settled(visitor, id, session.seq - 1)
  }

  /** Ends a session that the caller owns. @throws SESSION_NOT_FOUND, SESSION_BUSY */
  async cancel (wanted: Wanted, caller: Caller, id: string): Promise<Session> {
    return await this.#options.running.use(async ({ runner }) => {
      await ownSession(runner, caller, id, wanted)
      return await runner.stop(id, 'cancel', `cancelled by ${caller.name === '' ? 'its user' : caller.name}`)
    })
  }

  /**
   * Gives the events of a session since a visitor's call, and then each new event, until the session waits for somebody or has ended.
   * @param who gives the visiting caller with the rights that the caller has now; called before each event
   * @throws SESSION_NOT_FOUND, as soon as the visitor may not see the session any more
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
