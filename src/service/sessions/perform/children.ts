import { ServiceError } from '../../../base/errors.ts'
import { type JsonObject, stringifyJson } from '../../../base/json.ts'
import { describeApproval } from '../../../session/approval.ts'
import { childId } from '../../../session/child.ts'
import { type Followed, followSession } from '../../../session/follow.ts'
import { ENDED, type ChildEffect, type Start } from '../../../session/model.ts'
import { type Outcome } from '../../../session/performer.ts'
import { type SessionRunner } from '../../../session/run/runner.ts'
import { type Session } from '../../../session/session.ts'
import { type SessionStore } from '../../../session/session-store.ts'
import { outcomeOfChild } from './child-outcome.ts'
import { type Perform, type Performing } from './performer.ts'

/** What is told live of approvals, in UTF-16 units of their JSON: what is beyond is fetched by its id. */
const MAX_SHOWN = 32 * 1024

/** What starting and following children needs. */
export interface ChildrenOptions {
  /** What a child starts with. @param id that it will have @throws ServiceError that says why it is not started */
  readonly startOf: (performing: Performing<ChildEffect>, id: string) => Promise<Start>
  /** Does something with what runs sessions. */
  readonly use: <T>(work: (opened: { readonly store: SessionStore, readonly runner: SessionRunner }) => Promise<T>) => Promise<T>
}

/**
 * Starts sessions for sessions, and follows each to its end. Done again it finds the session that it has started before, since the
 * id is the same. A process that stops leaves its children to the next one.
 */
export function followChildren ({ startOf, use }: ChildrenOptions): Perform<ChildEffect> {
  return async performing => await use(async ({ store, runner }) => {
    const { session, effect, signal } = performing
    const id = childId(session.id, effect.id)
    const known = await runner.load(id)
    const start = known === undefined ? await tryToStart(startOf, performing, id) : undefined
    if (start !== undefined && 'kind' in start) return start
    const begun = known ?? await runner.start(id, start as Start)
    const watch = new ChildWatch(runner, performing, begun)
    watch.tell()
    for await (const each of followSession(store, id, begun.seq, signal)) await watch.take(each)
    const child = await runner.load(id)
    if (child === undefined || !ENDED.has(child.status)) return { kind: 'failure', code: 'CHILD_LEFT', message: 'nobody waits for it here any more' }
    return outcomeOfChild(child)
  })
}

/** What the child starts with, or why it does not. */
async function tryToStart (startOf: ChildrenOptions['startOf'], performing: Performing<ChildEffect>, id: string): Promise<Start | Outcome> {
  try {
    return await startOf(performing, id)
  } catch (error) {
    if (error instanceof ServiceError) return { kind: 'failure', code: error.code, message: error.message }
    throw error
  }
}

/** Tells those who follow the parent what its child waits for. */
class ChildWatch {
  readonly #runner: SessionRunner
  readonly #performing: Performing<ChildEffect>
  #child: Session
  /** What the child has said last, of what it waits for an answer to. */
  #said = ''
  #told = ''

  constructor (runner: SessionRunner, performing: Performing<ChildEffect>, child: Session) {
    this.#runner = runner
    this.#performing = performing
    this.#child = child
  }

  async take (each: Followed): Promise<void> {
    if ('live' in each) {
      // What children of the child wait for is told all the way up.
      if (each.live['type'] === 'child') this.#performing.publish(each.live)
      return
    }
    const { notices } = each.transition
    const said = notices.filter(({ type }) => type === 'ask' || type === 'stdout' || type === 'message').flatMap(({ data: { text } }) => typeof text === 'string' ? [text] : [])
    if (said.length > 0) this.#said = said.join('\n')
    if (!notices.some(({ type }) => type === 'state' || type === 'approval')) return
    this.#child = await this.#runner.load(this.#child.id) ?? this.#child
    this.tell()
  }

  /** Tells how the child is, unless that is known, or nobody has to do anything. */
  tell (): void {
    const { effect, publish } = this.#performing
    const { id, start: { definition, parent }, status } = this.#child
    const ask = this.#ask()
    const told = stringifyJson({ status, ask: ask ?? null })
    const isNews = this.#told === '' ? ask !== undefined : told !== this.#told
    this.#told = told
    if (!isNews || ENDED.has(status)) return
    const path = [...(parent?.line ?? []).map(each => each.definition), definition]
    publish({ type: 'child', session: id, effect: effect.id, name: effect.name, definition, status, path, ...(ask === undefined ? {} : { ask }) })
  }

  #ask (): JsonObject | undefined {
    let shown = 0
    const approvals = this.#runner.approvals(this.#child).map(describeApproval).map(({ effect, ...approval }): JsonObject => {
      shown += stringifyJson(effect).length
      return { ...approval, ...(shown > MAX_SHOWN ? {} : { effect }) }
    })
    if (approvals.length > 0) return { approvals }
    if (this.#child.status !== 'waiting_input') return undefined
    return { word: this.#child.engine.view.stateName, text: this.#said.slice(0, MAX_SHOWN) }
  }
}
