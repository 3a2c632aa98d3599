import { sessionNotFound } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'
import { timeLimit } from '../../runtime/deadline.ts'
import { type Followed, followSession } from '../../session/follow.ts'
import { type SessionRunner } from '../../session/run/runner.ts'
import { type Session } from '../../session/session.ts'
import { type RunningSessions } from './running-sessions.ts'

/** What a session has shown since a transition, until it waits for somebody or has ended. */
export interface Settled {
  readonly session: Session
  /** Short lines for the user. */
  readonly stdout: readonly string[]
  /** Whether it still runs: nobody has waited longer. */
  readonly isOpen: boolean
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
    const load = (): Promise<Session> => sessionOf(runner, id)
    if (patience === 0) return settledAt(await load(), [])
    const events = untilSettled(followSession(store, id, after, timeLimit(signal, patience)), load)
    for (;;) {
      const { done, value } = await events.next()
      if (done === true) return value
    }
  })
}

/** What happens in a session until it has nothing more to say by itself, or until the events end. @param load gives the session as it is now */
export async function * untilSettled (events: AsyncGenerator<Followed>, load: () => Promise<Session>): AsyncGenerator<Followed, Settled> {
  const stdout: string[] = []
  for await (const each of events) {
    stdout.push(...linesOf(each))
    yield each
    const session = await load()
    if (session.status !== 'running' && hasAll(each, session)) return settledAt(session, stdout)
  }
  return settledAt(await load(), stdout)
}

/** A session that is known to be there. */
export async function sessionOf (runner: Pick<SessionRunner, 'load'>, id: string): Promise<Session> {
  const session = await runner.load(id)
  if (session === undefined) throw sessionNotFound(id)
  return session
}

function settledAt (session: Session, stdout: readonly string[]): Settled {
  return { session, stdout, isOpen: session.status === 'running' }
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
