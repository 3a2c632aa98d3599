import { type JsonObject } from '../base/json.ts'
import { type RunningEngine } from './engine.ts'
import { childId, openChildrenIn, waitsForRoom } from './child.ts'
import { type Effect, type Head, type Position, type Spent, type Start, type Status } from './model.ts'

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
  /** Digests of calls and commands of which nobody knows whether they were done; one that has ended well since is none. */
  readonly doubtful: ReadonlySet<string>
  /** What a person was asked about, by the id of its effect. */
  readonly asked: ReadonlyMap<string, Asked>
  /** What its log takes, in bytes; the last transition counts when it is written. */
  readonly bytes: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** What the log of a session may take, in bytes. */
export const MAX_LOG_BYTES = 64 * 1024 * 1024

/** An effect without an end. */
export interface OpenEffect {
  readonly effect: Effect
  /** How far the effect is. `owed`: nobody has begun it. `held`: it waits for a person's approval. `begun`: a replica performs it. */
  readonly phase: 'owed' | 'held' | 'begun'
  /** The replica that has begun it. */
  readonly by?: string
  /** When, in ms since 1970. */
  readonly since?: number
  /** Whether another replica had begun it. */
  readonly isAgain?: boolean
  /** The digest of what a person has allowed: of anything else he is asked again. */
  readonly approved?: string
  /** What a person is asked, while it is held. */
  readonly question?: Question
  /** Of a child: what it may use of this session's budget. */
  readonly reserved?: Spent
}

/** What a person is asked about an effect. */
export interface Question {
  /** The rule that asks. */
  readonly rule: string
  /** See `Held`. */
  readonly about: JsonObject
  /** When it was asked, in ms since 1970. */
  readonly at: number
}

/** Where in the log a person was asked, and answered. */
export interface Asked {
  /** Number of the transition that asks. */
  readonly seq: number
  /** Of what was shown. */
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

/** What is owed and may be begun now: a child may have to wait until another one has ended. */
export function owedNow (session: Session): OpenEffect[] {
  return openIn(session, 'owed').filter(each => !waitsForRoom(session, each))
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
