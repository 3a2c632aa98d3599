import { type RunningEngine } from './engine.ts'
import { type Effect, type Head, type Position, type Start, type Status } from './model.ts'

/** A session as its log says it is: the fold of all transitions. Never changed: a further transition gives another. */
export interface Session extends Position {
  readonly id: string
  readonly start: Start
  readonly status: Status
  readonly engine: RunningEngine
  /** What was asked for and has no end yet, by id. */
  readonly open: ReadonlyMap<string, OpenEffect>
  readonly used: Used
  /** The id of the last input, so that one that is sent again counts once. */
  readonly lastInput: string | undefined
  readonly createdAt: number
  readonly updatedAt: number
}

/** An effect without an end. */
export interface OpenEffect {
  readonly effect: Effect
  /** `owed`: nobody has begun it. `held`: it waits for a person. */
  readonly phase: 'owed' | 'held' | 'begun'
  /** The replica that has begun it. */
  readonly by?: string
  /** When, in ms since 1970. */
  readonly since?: number
  /** A person has allowed it. */
  readonly isApproved?: true
  /** Why it is held. */
  readonly rule?: string
}

/** What a session has used of its budget. */
export interface Used {
  readonly steps: number
  readonly tokens: number
  /** How often each call of a tool was begun since the user spoke last, by its digest. */
  readonly calls: ReadonlyMap<string, number>
}

/** The head that lists show of a session. @param driver the replica that acts for it */
export function headOf ({ id, seq, token, start, status, createdAt, updatedAt }: Session, driver: string | undefined): Head {
  return { id, seq, token, owner: start.owner, engine: start.engine, definition: start.definition, status, createdAt, updatedAt, driver }
}

/** The effects that a session has in a phase, in the order in which they were asked for. */
export function openIn ({ open }: Session, phase: OpenEffect['phase']): OpenEffect[] {
  return [...open.values()].filter(each => each.phase === phase)
}

/** Whether it waits for its user, so that an input is accepted. */
export function acceptsInput (session: Session): boolean {
  return [...session.open.values()].some(({ effect, phase }) => effect.kind === 'wait' && phase === 'begun')
}

/** The replica that has begun something of the session that has no end yet; nobody while it waits. */
export function driverOf (session: Session): string | undefined {
  return [...session.open.values()].find(({ effect, phase }) => effect.kind !== 'wait' && phase === 'begun')?.by
}

/** Whether nobody has to do anything for it but its people. */
export function isWaiting (session: Session): boolean {
  return driverOf(session) === undefined && openIn(session, 'owed').length === 0
}
