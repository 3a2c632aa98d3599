import { type Caller } from '../../../access/caller.ts'
import { type Head, type Transition } from '../../../session/model.ts'
import { type Session } from '../../../session/session.ts'
import { type ListQuery, type SessionPage } from '../../../session/session-store.ts'
import { type Golden, goldenOf } from './golden.ts'
import { isPlan, sessionOfTrace, type Trace, traceIdOf, traceOf } from './trace.ts'

/** Gives a caller's sessions and their logs. Traces are made from these. */
export interface SessionLogs {
  /** Loads a plan. @throws SESSION_NOT_FOUND, also for a session that is no plan */
  get (caller: Caller, id: string): Promise<Session>
  list (caller: Caller, query: Omit<ListQuery, 'owner'>): Promise<SessionPage>
  transitions (caller: Caller, id: string): Promise<readonly Transition[]>
}

export interface TracesOptions {
  readonly logs: SessionLogs
  /** Whether traces contain the model's answers, with secrets replaced. */
  readonly keepsRaw: boolean
  /** The type of the model's provider, such as `builtin`. */
  readonly provider: string
}

/** A page of traces. It may have fewer traces than the limit, even none, although there are further pages. */
export interface TracePage {
  readonly traces: ReadonlyArray<{ readonly id: string, readonly head: Head }>
  readonly next?: string | undefined
}

/** Gives callers the traces of those plans that they are allowed to see. Each trace is made from the log of its session whenever it is asked for. */
export class Traces {
  readonly #options: TracesOptions

  constructor (options: TracesOptions) {
    this.#options = options
  }

  /** Lists the traces of the plans that the caller is allowed to see. @throws REQUEST_INVALID for a cursor that no page has given */
  async list (caller: Caller, query: { readonly limit: number, readonly cursor?: string }): Promise<TracePage> {
    const { heads, next } = await this.#options.logs.list(caller, query)
    return { traces: heads.filter(head => isPlan(head)).map(head => ({ id: traceIdOf(head.id), head })), next }
  }

  /** Makes the trace of a plan: a record of what it has read, asked and changed. @throws SESSION_NOT_FOUND */
  async get (caller: Caller, id: string): Promise<Trace> {
    const { session, transitions } = await this.#read(caller, id)
    return traceOf(session, transitions, this.#options.keepsRaw)
  }

  /** Makes the golden trace of a plan: a record that serves as a test case. @throws SESSION_NOT_FOUND */
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
