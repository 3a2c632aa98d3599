import { randomUUID } from 'node:crypto'
import type { Caller } from '../../access/caller.ts'
import { requestInvalid, sessionNotFound } from '../../base/errors.ts'
import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { SKILL } from '../../engine/skill/skill-state.ts'
import { Clip } from '../../exec/captured-output.ts'
import type { Generation } from '../../registry/generation.ts'
import { timeLimit } from '../../runtime/deadline.ts'
import { approvalId } from '../../session/approvals.ts'
import { openChildrenIn } from '../../session/child.ts'
import { isOf } from '../../session/engine.ts'
import { type Followed, followSession } from '../../session/follow.ts'
import type { Action, Head } from '../../session/model.ts'
import type { SessionRunner } from '../../session/runner.ts'
import { openIn, type Session } from '../../session/session.ts'
import { type Approvals, type NamedAnswer, nothingWaits } from './approvals.ts'
import type { SessionKind, Wanted } from './session-kind.ts'
import { type Below, openBelow, waitsForPeople } from './session-tree.ts'
import { isOwn, ownSession, requireUsable } from './session-rights.ts'
import type { RunningSessions } from './running-sessions.ts'
import type { Follower, Sessions, SessionStarts } from './sessions.ts'

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

/** A command to the service itself that the user of a skill can type in place of an answer: `skill:skip` or `skill:cancel`. */
type TypedWord = 'skip' | 'cancel'

/** Recognises a typed command in a text; `undefined` for an ordinary text. */
function typedWordIn (text: string): TypedWord | undefined {
  switch (text.trim().toLowerCase()) {
    case 'skill:skip': return 'skip'
    case 'skill:cancel': return 'cancel'
    default: return undefined
  }
}

/** Whether typed commands such as `skill:skip` are recognised in a session: only in skills; elsewhere they are ordinary texts. */
function takesTypedWords ({ start: { engine } }: Session): boolean {
  return isOf(engine, SKILL)
}

/** The largest input that is written into a session's log, in bytes. */
const MAX_INPUT = 512 * 1024

/** The most bytes that are kept of each output (stdout, stderr) of a command that the user ran by hand. Commands that the service runs have the same limit. */
const KEPT = 64 * 1024

/** Bounds an action before it is written into a session's log: outputs of commands are cut. @throws REQUEST_INVALID when the input is still too large */
export function boundedInput (text: string, action: Action | undefined): Action | undefined {
  const bounded = action?.name === 'command_result' ? { ...action, data: clipOutput(action.data) } : action
  const size = Buffer.byteLength(text) + (bounded === undefined ? 0 : Buffer.byteLength(stringifyJson(bounded)))
  if (size > MAX_INPUT) throw requestInvalid(`expected an input of at most ${MAX_INPUT} bytes, got ${size}`, { part: 'body' })
  return bounded
}

function clipOutput ({ stdout, stderr, ...rest }: JsonObject): JsonObject {
  const outputs = Object.entries({ stdout, stderr }).filter(([, value]) => value !== undefined)
  return { ...rest, ...Object.fromEntries(outputs.map(([name, value]) => [name, typeof value === 'string' ? clipped(value) : value])) as JsonObject }
}

function clipped (text: string): string {
  if (text.length * 3 <= KEPT) return text
  const clip = new Clip(KEPT)
  clip.append(Buffer.from(text))
  return clip.text()
}

/** The state of a session when a wait for it ends, with the lines that it has shown since a given transition. */
interface Settled {
  readonly session: Session
  /** Short lines that the session has shown to its user. */
  readonly stdout: readonly string[]
  /** Whether the session still runs: the time for the wait is over, or people must answer the session's child sessions before it can go on. */
  readonly isOpen: boolean
  /** The session's children that have not ended. */
  readonly children: ReadonlyArray<Head & Below>
}

/** The limits of a wait until a session needs input or has ended. */
interface Patience {
  /** The signal that ends the wait, for example when the client closes the connection. */
  readonly signal: AbortSignal
  /** The longest wait, in ms. With 0 there is no wait, and the lines that the session has shown are not read. */
  readonly patience: number
}

/**
 * Waits until a session needs a person's answer or has ended. The function does not check whether the caller is allowed to see the session.
 * @param after number of the transition (recorded step) after which events are read
 * @throws SESSIONS_UNAVAILABLE
 */
async function settle (running: RunningSessions, id: string, after: number, { signal, patience }: Patience): Promise<Settled> {
  return await running.use(async ({ store, runner }) => {
    if (patience === 0) return await settledAt(running, await sessionOf(runner, id), [])
    const events = untilSettled(followSession(store, id, after, timeLimit(signal, patience)), running, id)
    for (;;) {
      const { done, value } = await events.next()
      if (done === true) return value
    }
  })
}

/** Passes the events of a session on until the session waits for somebody or has ended, or until there are no more events. */
export async function * untilSettled (events: AsyncGenerator<Followed>, running: RunningSessions, id: string): AsyncGenerator<Followed, Settled> {
  const load = async (session: string): Promise<Session | undefined> => await running.use(({ runner }) => runner.load(session))
  const loadIt = async (): Promise<Session> => await running.use(({ runner }) => sessionOf(runner, id))
  const stdout: string[] = []
  let last = 0
  for await (const each of events) {
    stdout.push(...linesOf(each))
    yield each
    if ('transition' in each) last = each.transition.seq
    else if (each.live['type'] !== 'child') continue
    const session = await loadIt()
    if (session.seq <= last && (session.status !== 'running' || await waitsForPeople(session, load))) return await settledAt(running, session, stdout)
  }
  return await settledAt(running, await loadIt(), stdout)
}

/** Loads a session that is expected to exist. @throws SESSION_NOT_FOUND */
async function sessionOf (runner: Pick<SessionRunner, 'load'>, id: string): Promise<Session> {
  const session = await runner.load(id)
  if (session === undefined) throw sessionNotFound(id)
  return session
}

async function settledAt (running: RunningSessions, session: Session, stdout: readonly string[]): Promise<Settled> {
  const children = openChildrenIn(session).length === 0 ? [] : await running.use(async ({ store }) => await openBelow(store, session))
  return { session, stdout, isOpen: session.status === 'running', children }
}

function linesOf (followed: Followed): string[] {
  if (!('transition' in followed)) return []
  return followed.transition.notices.flatMap(({ type, data }) => type === 'stdout' ? [textOf(data)] : [])
}

function textOf ({ text }: JsonObject): string {
  return typeof text === 'string' ? text : ''
}
