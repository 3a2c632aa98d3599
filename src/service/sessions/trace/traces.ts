import { type Caller } from '../../../access/caller.ts'
import { type Head, type Transition } from '../../../session/model.ts'
import { type Session } from '../../../session/session.ts'
import { type ListQuery, type SessionPage } from '../../../session/session-store.ts'
import { type Golden, goldenOf } from './golden.ts'
import { isPlan, sessionOfTrace, type Trace, traceIdOf, traceOf } from './trace.ts'

/** Reads the sessions of a caller that traces are computed from. */
export interface SessionLogs {
  /** Loads a plan. @throws SESSION_NOT_FOUND, also for a session that is no plan */
  get (caller: Caller, id: string): Promise<Session>
  list (caller: Caller, query: Omit<ListQuery, 'owner'>): Promise<SessionPage>
  transitions (caller: Caller, id: string): Promise<readonly Transition[]>
}

export interface TracesOptions {
  readonly logs: SessionLogs
  /** Whether traces hold the model's answers, with secrets masked. */
  readonly keepsRaw: boolean
  /** The type of the model's provider, such as `builtin`. */
  readonly provider: string
}

/** A page of traces. A page may have fewer than its limit, even none, and a `next`. */
export interface TracePage {
  readonly traces: ReadonlyArray<{ readonly id: string, readonly head: Head }>
  readonly next?: string | undefined
}

/** The traces of the plans that a caller may read. They are computed from the sessions' logs, and stored nowhere. */
export class Traces {
  readonly #options: TracesOptions

  constructor (options: TracesOptions) {
    this.#options = options
  }

  /** Lists the traces of a caller's plans. @throws REQUEST_INVALID for a cursor that no page has given */
  async list (caller: Caller, query: { readonly limit: number, readonly cursor?: string }): Promise<TracePage> {
    const { heads, next } = await this.#options.logs.list(caller, query)
    return { traces: heads.filter(head => isPlan(head)).map(head => ({ id: traceIdOf(head.id), head })), next }
  }

  async get (caller: Caller, id: string): Promise<Trace> {
  /** Computes the trace of a plan. @throws SESSION_NOT_FOUND */
    const { session, transitions } = await this.#read(caller, id)
    return traceOf(session, transitions, this.#options.keepsRaw)
  }

  async golden (caller: Caller, id: string): Promise<Golden> {
  /** Computes the golden trace of a plan. @throws SESSION_NOT_FOUND */
    const { session, transitions } = await this.#read(caller, id)
    return goldenOf(session, transitions, this.#options.provider)
  }

  async #read (caller: Caller, id: string): Promise<{ readonly session: Session, readonly transitions: readonly Transition[] }> {
    const { logs } = this.#options
    const session = await logs.get(caller, sessionOfTrace(id))
    return { session, transitions: await logs.transitions(caller, session.id) }
  }
}
