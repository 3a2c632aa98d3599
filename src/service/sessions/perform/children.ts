import { ServiceError } from '../../../base/errors.ts'
import { stringifyJson } from '../../../base/json.ts'
import { childId } from '../../../session/child.ts'
import { type Followed, followSession } from '../../../session/follow.ts'
import { ENDED, type ChildEffect, type Start } from '../../../session/model.ts'
import { patiently } from '../../../session/patiently.ts'
import { type Outcome } from '../../../session/performer.ts'
import { type SessionRunner } from '../../../session/run/runner.ts'
import { type Session } from '../../../session/session.ts'
import { type SessionStore } from '../../../session/session-store.ts'
import { tellOfChild } from '../reading/asked-below.ts'
import { outcomeOfChild } from './child-outcome.ts'
import { type Perform, type Performing } from './performer.ts'

/** The opened store of sessions, and the runner that continues sessions. */
interface Opened {
  readonly store: SessionStore
  readonly runner: SessionRunner
}

/** What is needed to start child sessions and to follow them. */
export interface ChildrenOptions {
  /** Makes the recorded start of a child session. @param id the id that the child will have @throws ServiceError with the reason why the child cannot start */
  readonly startOf: (performing: Performing<ChildEffect>, id: string) => Promise<Start>
  /** Opens the store of sessions if it is not open yet, and calls `work` with the store and the runner. */
  readonly use: <T>(work: (opened: Opened) => Promise<T>) => Promise<T>
}

/**
 * Makes the performer that starts child sessions, and waits until each has ended. The id of a child is made from the ids of its parent and of the
 * effect (an action of the parent) that asks for the child. So if another process performs the effect again, it waits for the child that is there.
 */
export function followChildren ({ startOf, use }: ChildrenOptions): Perform<ChildEffect> {
  // While the store cannot be reached, the work is tried again: an outage must not make the child fail.
  return async performing => await use(async ({ store, runner }) => await patiently(performing.signal, async () => {
    const { session, effect, signal } = performing
    const id = childId(session.id, effect.id)
    const known = await runner.load(id)
    const start = known === undefined ? await tryToStart(startOf, performing, id) : undefined
    if (start !== undefined && 'kind' in start) return start
    const begun = known ?? await runner.start(id, start as Start)
    const watch = new ChildWatch({ store, runner }, performing, begun)
    await watch.tell()
    for await (const each of followSession(store, id, begun.seq, signal)) await watch.take(each)
    const child = await runner.load(id)
    if (child === undefined || !ENDED.has(child.status)) return { kind: 'failure', code: 'CHILD_LEFT', message: 'nobody waits for it here any more' }
    return outcomeOfChild(child)
  }))
}

/** The recorded start of a child session, or the failure because of which it cannot start. */
async function tryToStart (startOf: ChildrenOptions['startOf'], performing: Performing<ChildEffect>, id: string): Promise<Start | Outcome> {
  try {
    return await startOf(performing, id)
  } catch (error) {
    if (error instanceof ServiceError) return { kind: 'failure', code: error.code, message: error.message }
    throw error
  }
}

/** Tells the followers of a parent session what its child waits for. */
class ChildWatch {
  readonly #opened: Opened
  readonly #performing: Performing<ChildEffect>
  #child: Session
  #told = ''

  constructor (opened: Opened, performing: Performing<ChildEffect>, child: Session) {
    this.#opened = opened
    this.#performing = performing
    this.#child = child
  }

  async take (each: Followed): Promise<void> {
    if ('live' in each) {
      // News about the child's own children is passed on, so that it reaches the followers of all sessions above.
      if (each.live['type'] === 'child') this.#performing.publish(each.live)
      return
    }
    if (!each.transition.notices.some(({ type }) => type === 'state' || type === 'approval')) return
    this.#child = await this.#opened.runner.load(this.#child.id) ?? this.#child
    await this.tell()
  }

  /** Tells the parent's followers the child's state, if that state has changed. The first state is told only if the child waits for a person. */
  async tell (): Promise<void> {
    const { effect, publish } = this.#performing
    if (ENDED.has(this.#child.status)) return
    const words = await tellOfChild(this.#opened, this.#child, effect)
    const told = stringifyJson(words)
    const isNews = this.#told === '' ? words['ask'] !== undefined : told !== this.#told
    this.#told = told
    if (isNews) publish(words)
  }
}
