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

/** What a session has shown since a transition, until it waits for somebody or has ended. */
export interface Settled {
  readonly session: Session
  /** Short lines for the user. */
  readonly stdout: readonly string[]
  /** Whether it still runs: nobody has waited longer, or all that it waits for is people whom a session below it has asked. */
  readonly isOpen: boolean
  /** Sessions that it has started, and that have not ended. */
  readonly children: ReadonlyArray<Head & Below>
}

/** How long it is waited for, and by whom. */
export interface Patience {
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal
  /** In ms; with 0 nothing is waited for, and nothing read of what the session has shown. */
  readonly patience: number
}

/**
 * Waits until a session has nothing more to say by itself. Who may know of the session has been decided before.
 * @param after number of the transition behind which it is waited
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

/** What happens in a session until it has nothing more to say by itself, or until the events end. */
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

/** A session that is known to be there. */
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
