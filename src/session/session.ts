import { approvalOutdated, commitDisabled, requestInvalid, sessionBusy, sessionEnded, sessionFull } from '../base/errors.ts'
import { type JsonObject } from '../base/json.ts'
import { type RunningEngine } from './engine.ts'
import { childId, openChildrenIn, waitsForRoom } from './child.ts'
import { type Action, type Effect, ENDED, type Fact, type Head, type LogPosition, type Spent, type Start, type Status } from './model.ts'

/** Computed from its log, and immutable. */
export interface Session extends LogPosition {
  readonly id: string
  readonly start: Start
  readonly status: Status
  readonly engine: RunningEngine
  readonly open: ReadonlyMap<string, OpenEffect>
  readonly used: SpentBudget
  /** An input that a client sends twice counts once. */
  readonly lastInput: string | undefined
  /** Digests of interrupted calls, of which nobody knows whether they were done. A later result of an equal call removes one. */
  readonly doubtful: ReadonlySet<string>
  readonly asked: ReadonlyMap<string, ApprovalRecord>
  /** In bytes. A log entry counts only when the store has written it. */
  readonly bytes: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** A log of so many bytes begins no further effect and accepts no input. */
export const MAX_LOG_BYTES = 64 * 1024 * 1024

export interface OpenEffect {
  readonly effect: Effect
  /** `owed`: to be begun. `held`: waits for an approval. `begun`: a replica performs it. */
  readonly phase: 'owed' | 'held' | 'begun'
  readonly by?: string
  /** In ms since 1970. */
  readonly since?: number
  readonly isAgain?: boolean
  /** When the content has changed since the approval, the person is asked again. */
  readonly approved?: string
  readonly question?: Question
  /** For a child session: what is reserved for it. */
  readonly reserved?: Spent
}

interface Question {
  readonly rule: string
  readonly about: JsonObject
  /** In ms since 1970. */
  readonly at: number
}

export interface ApprovalRecord {
  readonly seq: number
  readonly digest: string
  readonly decided?: number
}

export interface SpentBudget {
  readonly steps: number
  readonly tokens: number
  /** By digest, since the user's last input: a high number shows a model that repeats itself. */
  readonly calls: ReadonlyMap<string, number>
}

export function headOf (session: Session, driver: string | undefined): Head {
  const { id, seq, token, start: { owner, engine, definition, forkOf, parent }, status, createdAt, updatedAt } = session
  const children = openChildrenIn(session).map(({ effect }) => childId(id, effect.id))
  return {
    id,
    seq,
    token,
    owner,
    engine,
    definition,
    status,
    isAsking: openIn(session, 'held').length > 0,
    createdAt,
    updatedAt,
    driver,
    copied: forkOf?.bytes,
    parent: parent?.session,
    root: parent?.root,
    children: children.length === 0 ? undefined : children
  }
}

/** In the order in which the engine asked for them. */
export function openIn ({ open }: Session, phase: OpenEffect['phase']): OpenEffect[] {
  return [...open.values()].filter(each => each.phase === phase)
}

/** A child may have to wait until another has ended. */
export function owedNow (session: Session): OpenEffect[] {
  return openIn(session, 'owed').filter(each => !waitsForRoom(session, each))
}

export function acceptsInput (session: Session): boolean {
  return [...session.open.values()].some(({ effect, phase }) => effect.kind === 'wait' && phase === 'begun')
}

/** Log entries of a session; with so many it accepts no further input. */
const MAX_LOG_ENTRIES = 10_000

export interface SessionInput {
  /** A request that is sent twice counts once. */
  readonly id: string
  readonly by: string
  readonly text: string
  readonly action?: Action | undefined
}

/** `undefined` for a repeated input. @throws SESSION_ENDED, SESSION_BUSY, SESSION_FULL, REQUEST_INVALID, APPROVAL_OUTDATED, COMMIT_DISABLED */
export function inputFact (session: Session, { id: input, by, text, action }: SessionInput): Fact | undefined {
  const { id, status, engine } = session
  if (session.lastInput === input) return undefined
  if (ENDED.has(status)) throw sessionEnded(id, status)
  const { kind, message } = engine.refuses(text, action) ?? {}
  switch (kind) {
    case 'busy': throw sessionBusy(id, status, message)
    case 'invalid': throw requestInvalid(message ?? '', { part: 'body' })
    case 'outdated': throw approvalOutdated(id, undefined)
    case 'disabled': throw commitDisabled(id, message ?? '')
  }
  if (!acceptsInput(session)) throw sessionBusy(id, status)
  if (session.seq >= MAX_LOG_ENTRIES) throw sessionFull(id, `${MAX_LOG_ENTRIES} transitions`)
  if (session.bytes >= MAX_LOG_BYTES) throw sessionFull(id, `a log of ${MAX_LOG_BYTES} bytes`)
  return { kind: 'input', id: input, by, text, action }
}

export function driverOf (session: Session): string | undefined {
  return [...session.open.values()].find(({ effect, phase }) => effect.kind !== 'wait' && phase === 'begun')?.by
}

export function isWaiting (session: Session): boolean {
  return driverOf(session) === undefined && openIn(session, 'owed').length === 0
}

export function statusOf (session: Session): Status {
  const { outcome } = session.engine.view
  if (outcome !== 'open') return outcome
  if (openIn(session, 'begun').some(({ effect }) => effect.kind !== 'wait') || openIn(session, 'owed').length > 0) return 'running'
  if (openIn(session, 'held').length > 0) return 'waiting_approval'
  return acceptsInput(session) ? 'waiting_input' : 'running'
}
