import { type Caller } from '../../access/caller.ts'
import { type JsonObject } from '../../base/json.ts'
import { timeLimit } from '../../runtime/deadline.ts'
import { type Followed } from '../../session/follow.ts'
import { type Session } from '../../session/session.ts'
import { type Follower, type Sessions } from './sessions.ts'

/** What a session has shown since a transition, until it waits again or has ended. */
export interface Turn {
  readonly session: Session
  /** Short lines for the user. */
  readonly stdout: readonly string[]
  /** Whether it still runs: nobody waits longer. */
  readonly isOpen: boolean
}

/** How long a turn is waited for, in ms. */
const PATIENCE = 30_000

/**
 * What happens in a session until it has nothing more to say by itself, or nobody listens any more.
 * @param after number of the transition behind which the turn begins
 */
export async function * turnEvents (sessions: Sessions, who: Follower, id: string, after: number, signal: AbortSignal): AsyncGenerator<Followed, Turn> {
  const stdout: string[] = []
  for await (const followed of await sessions.follow(who, id, after, signal)) {
    stdout.push(...linesOf(followed))
    yield followed
    const session = await sessions.get(typeof who === 'function' ? who() : who, id)
    if (session.status !== 'running' && hasAll(followed, session)) return { session, stdout, isOpen: false }
  }
  const session = await sessions.get(typeof who === 'function' ? who() : who, id)
  return { session, stdout, isOpen: session.status === 'running' }
}

/**
 * Follows a session until it has nothing more to say by itself, or for 30 s.
 * @param after number of the transition behind which the turn begins
 */
export async function followTurn (sessions: Sessions, caller: Caller, id: string, after: number, signal: AbortSignal): Promise<Turn> {
  const events = turnEvents(sessions, caller, id, after, timeLimit(signal, PATIENCE))
  for (;;) {
    const { done, value } = await events.next()
    if (done === true) return value
  }
}

function hasAll (followed: Followed, { seq }: Session): boolean {
  return 'transition' in followed && followed.transition.seq >= seq
}

function linesOf (followed: Followed): string[] {
  if (!('transition' in followed)) return []
  return followed.transition.notices.flatMap(({ type, data }) => type === 'stdout' ? [textOf(data)] : [])
}

function textOf ({ text }: JsonObject): string {
  return typeof text === 'string' ? text : ''
}
