import { randomUUID } from 'node:crypto'
import type { Caller } from '../../access/caller.ts'
import { requestInvalid, sessionNotFound } from '../../base/errors.ts'
import { type JsonObject, stringifyJson, textIn } from '../../base/json.ts'
import { SKILL } from '../../engine/skill/skill-state.ts'
import { Clip } from '../../exec/captured-output.ts'
import type { Generation } from '../../registry/generation.ts'
import { timeLimit } from '../../runtime/deadline.ts'
import { approvalId } from '../../session/approvals.ts'
import { openChildrenIn } from '../../session/child.ts'
import { isOf } from '../../session/engine.ts'
import { type FeedItem, followSession } from '../../session/follow.ts'
import type { Action, Head } from '../../session/model.ts'
import type { SessionRunner } from '../../session/runner.ts'
import { openIn, type Session } from '../../session/session.ts'
import { type Approvals, type NamedAnswer, nothingWaits } from './approvals.ts'
import type { SessionKind, RequestedKind } from './session-kind.ts'
import { type Below, openBelow, waitsForPeople } from './session-tree.ts'
import { isOwn, ownSession, requireUsable } from './session-rights.ts'
import type { RunningSessions } from './running-sessions.ts'
import type { CurrentCaller, Sessions, SessionStarts } from './sessions.ts'

/** In ms. */
const PATIENCE = 30_000

export interface RequestContext {
  readonly caller: Caller
  readonly requestId: string
  /** A request that is sent again with the same key counts once. */
  readonly key?: string | undefined
  readonly signal: AbortSignal
  /** In ms; 0 for a caller who follows the events instead. @default 30 s */
  readonly patience?: number | undefined
}

export interface TurnResult extends IdleState {
  /** The last log entry before the call; those that the call has caused have higher numbers. */
  readonly after: number
  /** An approver who does not own the session sees only the approvals that wait. */
  readonly isOwn: boolean
}

export interface UserInput {
  readonly text?: string | undefined
  readonly action?: Action | undefined
}

export type SeenApproval = Pick<NamedAnswer, 'approvalId' | 'digest'>

/** `command` replaces the one that was shown. */
type Allowed = SeenApproval & Pick<NamedAnswer, 'command' | 'isStrict'>

interface SessionServiceOptions {
  readonly running: RunningSessions
  readonly sessions: Sessions
  readonly starts: SessionStarts
  readonly approvals: Approvals
}

/** For requests, WebSockets and terminals; each operation checks what the caller may do. */
export class SessionService {
  readonly #options: SessionServiceOptions

  constructor (options: SessionServiceOptions) {
    this.#options = options
  }

  /** Until input is needed, the end, or `patience`. @throws those of the kind, TOO_MANY_SESSIONS, IDEMPOTENCY_KEY_REUSED, SESSIONS_UNAVAILABLE */
  async start<R> (kind: SessionKind<R>, visitor: RequestContext, generation: Generation, request: R): Promise<TurnResult> {
    const { caller, requestId, key } = visitor
    const { id } = await this.#options.starts.start(caller, session => kind.start(request, { caller, generation, session, requestId }), key)
    return await this.#settled(visitor, id, 0)
  }

  /** Only the caller's own. @throws SESSION_NOT_FOUND */
  async get (wanted: RequestedKind, caller: Caller, id: string): Promise<Session> {
    return await this.#options.running.use(({ runner }) => ownSession(runner, caller, id, wanted))
  }

  /** The token must still allow it all. @throws SESSION_NOT_FOUND, ROLE_MISSING, DEFINITION_NOT_FOUND, TARGET_NOT_FOUND, WORKSPACE_NOT_FOUND */
  async getUsable (wanted: RequestedKind, caller: Caller, id: string): Promise<Session> {
    const session = await this.get(wanted, caller, id)
    requireUsable(caller, session.start, session)
    return session
  }

  /** In a skill, `skill:skip` and `skill:cancel` are commands. @throws SESSION_NOT_FOUND, SESSION_BUSY, SESSION_ENDED, SESSION_FULL, REQUEST_INVALID */
  async say (wanted: RequestedKind, visitor: RequestContext, id: string, { text = '', action }: UserInput): Promise<TurnResult> {
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
  async approve (wanted: RequestedKind, visitor: RequestContext, id: string, { approvalId, digest, command, isStrict }: Allowed): Promise<TurnResult> {
    const { session } = await this.#options.approvals.answer(visitor.caller, id, { approvalId, digest, command, isStrict, decision: 'approve' }, wanted)
    return await this.#settled(visitor, id, session.seq - 1)
  }

  /**
   * Refuses an action that waits for approval in a session that the caller owns.
   * @param otherwise the input that is sent to the session instead, if nothing waits for approval and `shown` names no approval
   * @param shown the approval that is refused. @default the first that waits now
   * @throws SESSION_NOT_FOUND, SESSION_BUSY, SESSION_ENDED, REQUEST_INVALID, APPROVAL_DECIDED, APPROVAL_OUTDATED
   */
  async refuse (wanted: RequestedKind, visitor: RequestContext, id: string, otherwise?: UserInput, shown?: SeenApproval): Promise<TurnResult> {
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

  /** Only the caller's own. @throws SESSION_NOT_FOUND, SESSION_BUSY */
  async cancel (wanted: RequestedKind, caller: Caller, id: string): Promise<Session> {
    return await this.#options.running.use(async ({ runner }) => {
      await ownSession(runner, caller, id, wanted)
      return await runner.stop(id, 'cancel', `cancelled by ${caller.name === '' ? 'its user' : caller.name}`)
    })
  }

  /** `who` is called before each event for the caller's present rights. @throws SESSION_NOT_FOUND as soon as they end */
  async * events (who: CurrentCaller, { session: { id }, after, isOwn }: TurnResult, signal: AbortSignal): AsyncGenerator<FeedItem, TurnResult> {
    const { running, sessions } = this.#options
    const events = await sessions.follow(who, id, after, signal)
    const settled = yield * untilIdle(events, running, id)
    return { ...settled, after, isOwn }
  }

  async #obey (wanted: RequestedKind, visitor: RequestContext, id: string, word: TypedWord): Promise<TurnResult> {
    if (word === 'skip') return await this.refuse(wanted, visitor, id, { action: { name: 'skip', data: {} } })
    const { seq } = await this.cancel(wanted, visitor.caller, id)
    return await this.#settled(visitor, id, seq - 1)
  }

  async #settled ({ caller, signal, patience = PATIENCE }: RequestContext, id: string, after: number): Promise<TurnResult> {
    const settled = await waitUntilIdle(this.#options.running, id, after, { signal, patience })
    return { ...settled, after, isOwn: isOwn(caller, settled.session) }
  }
}

type TypedWord = 'skip' | 'cancel'

function typedWordIn (text: string): TypedWord | undefined {
  switch (text.trim().toLowerCase()) {
    case 'skill:skip': return 'skip'
    case 'skill:cancel': return 'cancel'
    default: return undefined
  }
}

function takesTypedWords ({ start: { engine } }: Session): boolean {
  return isOf(engine, SKILL)
}

/** In bytes. */
const MAX_INPUT = 512 * 1024

/** In bytes of each of stdout and stderr; the service's own commands have the same limit. */
const KEPT = 64 * 1024

/** Cuts the outputs of commands before they are logged. @throws REQUEST_INVALID when the input is still too large */
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

interface IdleState {
  readonly session: Session
  readonly stdout: readonly string[]
  readonly isOpen: boolean
  readonly children: ReadonlyArray<Head & Below>
}

interface Patience {
  readonly signal: AbortSignal
  /** In ms; with 0 there is no wait, and the lines that the session has shown are not read. */
  readonly patience: number
}

/** Does not check whether the caller may see the session. @throws SESSIONS_UNAVAILABLE */
async function waitUntilIdle (running: RunningSessions, id: string, after: number, { signal, patience }: Patience): Promise<IdleState> {
  return await running.use(async ({ store, runner }) => {
    if (patience === 0) return await idleStateOf(running, await sessionOf(runner, id), [])
    const events = untilIdle(followSession(store, id, after, timeLimit(signal, patience)), running, id)
    for (;;) {
      const { done, value } = await events.next()
      if (done === true) return value
    }
  })
}

async function * untilIdle (events: AsyncGenerator<FeedItem>, running: RunningSessions, id: string): AsyncGenerator<FeedItem, IdleState> {
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
    if (session.seq <= last && (session.status !== 'running' || await waitsForPeople(session, load))) return await idleStateOf(running, session, stdout)
  }
  return await idleStateOf(running, await loadIt(), stdout)
}

/** @throws SESSION_NOT_FOUND */
async function sessionOf (runner: Pick<SessionRunner, 'load'>, id: string): Promise<Session> {
  const session = await runner.load(id)
  if (session === undefined) throw sessionNotFound(id)
  return session
}

async function idleStateOf (running: RunningSessions, session: Session, stdout: readonly string[]): Promise<IdleState> {
  const children = openChildrenIn(session).length === 0 ? [] : await running.use(async ({ store }) => await openBelow(store, session))
  return { session, stdout, isOpen: session.status === 'running', children }
}

function linesOf (followed: FeedItem): string[] {
  if (!('transition' in followed)) return []
  return followed.transition.notices.flatMap(({ type, data }) => type === 'stdout' ? [textIn(data, 'text')] : [])
}
