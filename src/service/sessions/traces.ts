import { ANYONE, type Caller } from '../../access/caller.ts'
import { type Json, ownField, stringifyJson } from '../../base/json.ts'
import type { Log } from '../../runtime/telemetry.ts'
import { isProblem, parsePlan } from '../../engine/plan/parse-plan.ts'
import { PLAN } from '../../engine/plan/plan-state.ts'
import type { Workspaces } from '../../files/workspaces.ts'
import { resultOf, startedAs } from '../../session/engine.ts'
import type { Head, LogEntry } from '../../session/model.ts'
import type { Session } from '../../session/session.ts'
import type { ListQuery, HeadPage } from '../../session/store/session-store.ts'
import { answersOf, isPlan, maskJson, sessionOfTrace, answerText, type PlanTrace, traceIdOf, traceOf } from './trace.ts'

export interface SessionLogs {
  /** @throws SESSION_NOT_FOUND, also for a session that is no plan */
  get (caller: Caller, id: string): Promise<Session>
  list (caller: Caller, query: Omit<ListQuery, 'owner'>): Promise<HeadPage>
  transitions (caller: Caller, id: string): Promise<readonly LogEntry[]>
}

interface TracesOptions {
  readonly logs: SessionLogs
  /** With secrets replaced. */
  readonly keepsRaw: boolean
  readonly provider: string
}

/** It may have fewer traces than the limit, even none, although there are further pages. */
interface TracePage {
  readonly traces: ReadonlyArray<{ readonly id: string, readonly head: Head }>
  readonly next?: string | undefined
}

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
  async get (caller: Caller, id: string): Promise<PlanTrace> {
    const { session, transitions } = await this.#read(caller, id)
    return traceOf(session, transitions, this.#options.keepsRaw)
  }

  /** @throws SESSION_NOT_FOUND */
  async golden (caller: Caller, id: string): Promise<Golden> {
    const { session, transitions } = await this.#read(caller, id)
    return goldenOf(session, transitions, this.#options.provider)
  }

  async #read (caller: Caller, id: string): Promise<{ readonly session: Session, readonly transitions: readonly LogEntry[] }> {
    const { logs } = this.#options
    const session = await logs.get(caller, sessionOfTrace(id))
    return { session, transitions: await logs.transitions(caller, session.id) }
  }
}

/** A recorded plan that serves as a test case, without anything that differs from run to run. */
export interface Golden {
  readonly protocol: { readonly schema_version: number, readonly schema_hash: string }
  readonly request: Readonly<Record<'mode' | 'input_chars' | 'token_budget' | 'model', Json>> & { readonly strict_json: boolean, readonly provider: string }
  readonly context: { readonly context_stats: Json, readonly cache_stats: Json }
  readonly result: {
    readonly validated_json: Json
    readonly validation_outcome: 'ok' | 'error'
    readonly error_code: Json
    /** From here on only with version 2 of the answer's schema. `mended`: codes of faults that the model had to correct. */
    readonly state?: string
    readonly mended?: readonly string[]
    readonly check_rounds?: number
  }
}

export function goldenOf (session: Session, transitions: readonly LogEntry[], provider: string): Golden {
  const { schemaVersion, schemaHash, isStrict, model } = startedAs(session.start, PLAN).setting
  const logged = transitions.flatMap(({ notices }) => notices.filter(({ type }) => type === 'log').map(({ data }) => data))
  const sent = logged.findLast(({ event }) => event === 'LLM_REQUEST_SENT') ?? {}
  const judged = logged.findLast(({ event }) => event === 'LLM_PLAN_OK' || event === 'VALIDATION_FAILED')
  const answer = answersOf(transitions).at(-1) ?? null
  const outcome = resultOf(session, PLAN)
  const { mode, context_stats: contextStats, cache_stats: cacheStats, error_code: code = null } = outcome
  const rounds = {
    state: outcome.state,
    mended: outcome.session_memory.recent_errors.map(error => error.split(':', 1)[0] ?? ''),
    check_rounds: logged.filter(({ event }) => event === 'CHECK_FAILED_ROUND').length
  }
  return {
    protocol: { schema_version: schemaVersion, schema_hash: schemaHash },
    request: {
      mode,
      input_chars: sent['input_chars'] ?? 0,
      token_budget: sent['token_budget'] ?? 0,
      strict_json: isStrict,
      provider,
      model: model === '' ? modelOf(answer) : model
    },
    context: { context_stats: contextStats, cache_stats: cacheStats },
    result: {
      validated_json: maskJson(jsonOf(answer, schemaVersion)),
      validation_outcome: judged?.['event'] === 'LLM_PLAN_OK' ? 'ok' : 'error',
      error_code: code,
      ...(schemaVersion === 1 ? {} : rounds)
    }
  }
}

function modelOf (answer: Json): Json {
  return ownField(answer, 'model') ?? null
}

function jsonOf (answer: Json, version: number): Json {
  const reply = parsePlan(answerText(answer), version)
  return isProblem(reply) ? null : reply.json
}

export class TraceFiles {
  readonly #traces: Pick<Traces, 'get'>
  readonly #loadWorkspaces: () => Promise<Workspaces>
  readonly #log: Log
  /** Written one after the other, as two traces can go to the same file. */
  #last = Promise.resolve()

  constructor (traces: Pick<Traces, 'get'>, loadWorkspaces: () => Promise<Workspaces>, log: Log) {
    this.#traces = traces
    this.#loadWorkspaces = loadWorkspaces
    this.#log = log
  }

  /** Does nothing for other sessions; never rejects, since a plan goes on without its trace. */
  async write (session: Session): Promise<void> {
    if (!isPlan(session.start)) return
    this.#last = this.#last.then(() => this.#write(session.id)).catch((error: unknown) => {
      this.#log.warn({ session: session.id, reason: (error as Error).message }, 'the trace of a plan could not be written')
    })
    await this.#last
  }

  async #write (session: string): Promise<void> {
    const trace = await this.#traces.get(ANYONE, session)
    const workspaces = await this.#loadWorkspaces()
    await workspaces.writeTrace(trace.workspace, trace.trace_id, `${stringifyJson(trace, 2)}\n`)
  }
}
