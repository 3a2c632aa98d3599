import { type JsonObject } from '../base/json.ts'
import { type RunningEngine } from './engine.ts'
import { childId, openChildrenIn, waitsForRoom } from './child.ts'
import { type Effect, type Head, type LogPosition, type Spent, type Start, type Status } from './model.ts'

/** The state of a session, computed from all transitions (entries) of its log. It is immutable: a further transition gives a new object. */
export interface Session extends LogPosition {
  readonly id: string
  readonly start: Start
  readonly status: Status
  readonly engine: RunningEngine
  /** The effects (model calls, commands …) that the engine asked for and that have not ended, by id. */
  readonly open: ReadonlyMap<string, OpenEffect>
  readonly used: SpentBudget
  /** The id of the user's last input, so that an input that a client sends twice counts once. */
  readonly lastInput: string | undefined
  /**
   * The digests of tool calls and commands that were interrupted, so that nobody knows whether they were done. When an equal call or command
   * has a result later, the digest is removed.
   */
  readonly doubtful: ReadonlySet<string>
  /** For each effect about which a person was asked, by the effect's id: the places of the question and of the answer in the log. */
  readonly asked: ReadonlyMap<string, ApprovalRecord>
  /** The size of the session's log in the store, in bytes. A new transition counts only when the store has written it. */
  readonly bytes: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** A session whose log has this size, in bytes, begins no further effect and accepts no further input. */
export const MAX_LOG_BYTES = 64 * 1024 * 1024

/** An open effect: something that the engine asked the service to do (a model call, a command), and that has not ended. */
export interface OpenEffect {
  readonly effect: Effect
  /**
   * The phase of the effect. `owed`: a replica (service process) has still to begin it. `held`: it waits for a person's approval. `begun`: a
   * replica performs it.
   */
  readonly phase: 'owed' | 'held' | 'begun'
  /** The id of the replica that began the effect. */
  readonly by?: string
  /** When the effect was begun, in ms since 1970. */
  readonly since?: number
  /** Whether the effect had been begun once before. */
  readonly isAgain?: boolean
  /** The digest of the content that a person has approved. When the content has changed since the approval, the person is asked again. */
  readonly approved?: string
  /** The question that a person is asked, while the effect waits for an approval. */
  readonly question?: Question
  /** The part of this session's budget that is reserved for the child session, when the effect starts a child session. */
  readonly reserved?: Spent
}

/** The question to a person whether an effect, such as a command, may be performed. */
export interface Question {
  /** The rule, in words, because of which the person is asked. */
  readonly rule: string
  /** The circumstances (such as host and folder) that a person has to know to decide about the effect; see `Held`. */
  readonly about: JsonObject
  /** When the person was asked, in ms since 1970. */
  readonly at: number
}

/** The numbers of the log entries in which a person was asked about an effect, and in which the person answered. */
export interface ApprovalRecord {
  /** The number of the log entry with the question. */
  readonly seq: number
  /** The digest of the content that was shown to the person. */
  readonly digest: string
  /** The number of the log entry with the decision; absent while nobody has decided. */
  readonly decided?: number
}

/** How much a session has used of its budget, in steps (effects that were begun) and tokens. */
export interface SpentBudget {
  readonly steps: number
  readonly tokens: number
  /**
   * How often each tool call and command was begun since the user's last input, by the digest of the effect. A high number shows a model that
   * repeats itself.
   */
  readonly calls: ReadonlyMap<string, number>
}

/** Makes the head of a session, the summary that lists show. @param driver id of the replica that performs the session's effects, if any */
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
    ...(forkOf === undefined ? {} : { copied: forkOf.bytes }),
    ...(parent === undefined ? {} : { parent: parent.session, root: parent.root }),
    ...(children.length === 0 ? {} : { children })
  }
}

/** The effects of a session that have not ended and are in the phase `phase`, in the order in which the engine asked for them. */
export function openIn ({ open }: Session, phase: OpenEffect['phase']): OpenEffect[] {
  return [...open.values()].filter(each => each.phase === phase)
}

/** The effects that nobody has begun and that can begin now. A child session perhaps has to wait until another child has ended. */
export function owedNow (session: Session): OpenEffect[] {
  return openIn(session, 'owed').filter(each => !waitsForRoom(session, each))
}

/** Whether a session waits for its user, and so accepts an input. */
export function acceptsInput (session: Session): boolean {
  return [...session.open.values()].some(({ effect, phase }) => effect.kind === 'wait' && phase === 'begun')
}

/** The id of the replica (service process) that performs an effect of a session now; `undefined` while no effect is performed. */
export function driverOf (session: Session): string | undefined {
  return [...session.open.values()].find(({ effect, phase }) => effect.kind !== 'wait' && phase === 'begun')?.by
}

/** Whether a session only waits for people: no effect runs, and no effect has still to be begun. */
export function isWaiting (session: Session): boolean {
  return driverOf(session) === undefined && openIn(session, 'owed').length === 0
}

/** The status of a session that nobody has stopped: running while an effect runs or has still to be begun, else waiting for a decision or an input. */
export function statusOf (session: Session): Status {
  const { outcome } = session.engine.view
  if (outcome !== 'open') return outcome
  if (openIn(session, 'begun').some(({ effect }) => effect.kind !== 'wait') || openIn(session, 'owed').length > 0) return 'running'
  if (openIn(session, 'held').length > 0) return 'waiting_approval'
  return acceptsInput(session) ? 'waiting_input' : 'running'
}
