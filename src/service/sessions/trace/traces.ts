import { type Caller } from '../../../access/caller.ts'
import { type Head, type Transition } from '../../../session/model.ts'
import { type Session } from '../../../session/session.ts'
import { type ListQuery, type SessionPage } from '../../../session/session-store.ts'
import { type Golden, goldenOf } from './golden.ts'
import { isPlan, sessionOfTrace, type Trace, traceIdOf, traceOf } from './trace.ts'

/** What traces are computed from: the sessions that a caller may read. */
export interface SessionLogs {
  /** @throws SESSION_NOT_FOUND, also for a session that is no plan */
  get (caller: Caller, id: string): Promise<Session>
  list (caller: Caller, query: Omit<ListQuery, 'owner'>): Promise<SessionPage>
  transitions (caller: Caller, id: string): Promise<readonly Transition[]>
}

export interface TracesOptions {
  readonly logs: SessionLogs
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
    const { heads, next } = await this.#options.logs.list(caller, query)
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
    const { logs } = this.#options
    const session = await logs.get(caller, sessionOfTrace(id))
    return { session, transitions: await logs.transitions(caller, session.id) }
  }
}
