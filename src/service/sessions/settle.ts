import { sessionNotFound } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'
import { timeLimit } from '../../runtime/deadline.ts'
import { type Followed, followSession } from '../../session/follow.ts'
import { type SessionRunner } from '../../session/run/runner.ts'
import { type Session } from '../../session/session.ts'
import { openChildrenIn } from '../../session/child.ts'
import { type Head } from '../../session/model.ts'
import { type Below, openBelow, waitsForPeople } from './reading/below.ts'
import { type RunningSessions } from './running-sessions.ts'

/** The state of a session when a wait for it ends, with the lines that it has shown since a given transition. */
export interface Settled {
  readonly session: Session
  /** Short lines that the session has shown to its user. */
  readonly stdout: readonly string[]
  /** Whether the session still runs: the time for the wait is over, or people must answer the session's child sessions before it can go on. */
  readonly isOpen: boolean
  /** The session's children that have not ended. */
  readonly children: ReadonlyArray<Head & Below>
}

/** The limits of a wait until a session needs input or has ended. */
export interface Patience {
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
export async function settle (running: RunningSessions, id: string, after: number, { signal, patience }: Patience): Promise<Settled> {
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
export async function sessionOf (runner: Pick<SessionRunner, 'load'>, id: string): Promise<Session> {
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
