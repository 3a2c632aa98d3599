import { type JsonObject } from '../base/json.ts'
import { type RunningEngine } from './engine.ts'
import { childId, openChildrenIn, waitsForRoom } from './child.ts'
import { type Effect, type Head, type Position, type Spent, type Start, type Status } from './model.ts'

/** The state of a session, computed by folding all transitions of its log. It is immutable: a further transition gives a new object. */
export interface Session extends Position {
  readonly id: string
  readonly start: Start
  readonly status: Status
  readonly engine: RunningEngine
  /** The effects that the engine asked for and that have not ended, by id. */
  readonly open: ReadonlyMap<string, OpenEffect>
  readonly used: Used
  /** The id of the last input, so that an input that a client sends twice counts once. */
  readonly lastInput: string | undefined
  /** Digests of tool calls and commands that were interrupted, so that they may have been done. One that has succeeded since is removed. */
  readonly doubtful: ReadonlySet<string>
  /** The questions that people were asked about effects, by the id of the effect. */
  readonly asked: ReadonlyMap<string, Asked>
  /** The size of the session's log, in bytes. A new transition counts once it is written. */
  readonly bytes: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** The largest size of a session's log, in bytes. */
export const MAX_LOG_BYTES = 64 * 1024 * 1024

/** An effect that has not ended. */
export interface OpenEffect {
  readonly effect: Effect
  /** How far the effect is. `owed`: nobody has begun it. `held`: it waits for a person's approval. `begun`: a replica performs it. */
  readonly phase: 'owed' | 'held' | 'begun'
  /** The id of the replica that began the effect. */
  readonly by?: string
  /** When the effect was begun, in ms since 1970. */
  readonly since?: number
  /** Whether the effect had been begun once before. */
  readonly isAgain?: boolean
  /** The digest of the content that a person has approved. Where the content differs by now, the person is asked again. */
  readonly approved?: string
  /** The question to a person, while the effect is held. */
  readonly question?: Question
  /** The part of this session's budget that is reserved for a child. */
  readonly reserved?: Spent
}

/** What a person is asked about an effect. */
export interface Question {
  /** The rule because of which the person is asked. */
  readonly rule: string
  /** See `Held`. */
  readonly about: JsonObject
  /** When it was asked, in ms since 1970. */
  readonly at: number
}

/** The places in the log where a person was asked about an effect, and where the person answered. */
export interface Asked {
  /** Number of the transition that asks. */
  readonly seq: number
  /** The digest of the content that was shown to the person. */
  readonly digest: string
  /** Number of the transition with the decision; without it nobody has decided. */
  readonly decided?: number
}

/** What a session has used of its budget. */
export interface Used {
  readonly steps: number
  readonly tokens: number
  /** How often each call of a tool was begun since the user spoke last, by its digest. */
  readonly calls: ReadonlyMap<string, number>
}

/** The head that lists show of a session. @param driver the replica that acts for it */
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

/** The effects that a session has in a phase, in the order in which they were asked for. */
export function openIn ({ open }: Session, phase: OpenEffect['phase']): OpenEffect[] {
  return [...open.values()].filter(each => each.phase === phase)
}

/** The owed effects that may be begun now. A child may have to wait until another child has ended. */
export function owedNow (session: Session): OpenEffect[] {
  return openIn(session, 'owed').filter(each => !waitsForRoom(session, each))
}

/** Whether a session waits for its user, so that it accepts an input. */
export function acceptsInput (session: Session): boolean {
  return [...session.open.values()].some(({ effect, phase }) => effect.kind === 'wait' && phase === 'begun')
}

/** The id of the replica that performs an effect of a session now; `undefined` while the session only waits. */
export function driverOf (session: Session): string | undefined {
  return [...session.open.values()].find(({ effect, phase }) => effect.kind !== 'wait' && phase === 'begun')?.by
}

/** Whether a session waits for people only: no effect runs, and none is owed. */
export function isWaiting (session: Session): boolean {
  return driverOf(session) === undefined && openIn(session, 'owed').length === 0
}

/** The status of a session that has not been stopped: running while an effect runs or is owed, else waiting for a decision or an input. */
export function statusOf (session: Session): Status {
  const { outcome } = session.engine.view
  if (outcome !== 'open') return outcome
  if (openIn(session, 'begun').some(({ effect }) => effect.kind !== 'wait') || openIn(session, 'owed').length > 0) return 'running'
  if (openIn(session, 'held').length > 0) return 'waiting_approval'
  return acceptsInput(session) ? 'waiting_input' : 'running'
}
