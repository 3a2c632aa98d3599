import { type Caller } from '../../../access/caller.ts'
import { sessionNotFound } from '../../../base/errors.ts'
import { type Head, type Transition } from '../../../session/model.ts'
import { type Session } from '../../../session/session.ts'
import { type Sessions } from '../sessions.ts'
import { type Golden, goldenOf } from './golden.ts'
import { isPlan, sessionOfTrace, type Trace, traceIdOf, traceOf } from './trace.ts'

export interface TracesOptions {
  readonly sessions: Pick<Sessions, 'get' | 'list' | 'transitions'>
  /** Whether traces hold what the model answered, masked. */
  readonly keepsRaw: boolean
  /** Who answers, as `builtin`. */
  readonly provider: string
}

/** A page of traces. A page may have fewer than its limit, even none, and a `next`. */
export interface TracePage {
  readonly traces: ReadonlyArray<{ readonly id: string, readonly head: Head }>
  readonly next?: string | undefined
}

/** The traces of plans, as each caller's own sessions have them. They are computed, and kept nowhere. */
export class Traces {
  readonly #options: TracesOptions

  constructor (options: TracesOptions) {
    this.#options = options
  }

  /** @throws REQUEST_INVALID for a cursor that no page has given */
  async list (caller: Caller, query: { readonly limit: number, readonly cursor?: string }): Promise<TracePage> {
    const { heads, next } = await this.#options.sessions.list(caller, query)
    return { traces: heads.filter(head => isPlan(head)).map(head => ({ id: traceIdOf(head.id), head })), next }
  }

  /** @throws SESSION_NOT_FOUND */
  async get (caller: Caller, id: string): Promise<Trace> {
    const { session, transitions } = await this.#read(caller, id)
    return traceOf(session, transitions, this.#options.keepsRaw)
  }

  /** @throws SESSION_NOT_FOUND */
  async golden (caller: Caller, id: string): Promise<Golden> {
    const { session, transitions } = await this.#read(caller, id)
    return goldenOf(session, transitions, this.#options.provider)
  }

  async #read (caller: Caller, id: string): Promise<{ readonly session: Session, readonly transitions: readonly Transition[] }> {
    const { sessions } = this.#options
    const session = await sessions.get(caller, sessionOfTrace(id))
    if (!isPlan(session.start)) throw sessionNotFound(id)
    return { session, transitions: await sessions.transitions(caller, session.id) }
  }
}
