import { ANYONE, type Caller } from '../../access/caller.ts'
import { type Json, ownField, stringifyJson } from '../../base/json.ts'
import type { Log } from '../../runtime/telemetry.ts'
import { isProblem, parsePlan } from '../../engine/plan/parse-plan.ts'
import { PLAN } from '../../engine/plan/plan-state.ts'
import type { Workspaces } from '../../files/workspaces.ts'
import { resultOf, startedAs } from '../../session/engine.ts'
import type { LogEntry } from '../../session/model.ts'
import type { Session } from '../../session/session.ts'
import type { SessionService } from './session-service.ts'
import { answersOf, isPlan, maskJson, sessionOfTrace, answerText, traceIdOf, traceOf } from './trace.ts'

interface TracesOptions {
  readonly sessions: SessionService
  readonly loadWorkspaces: () => Promise<Workspaces>
  readonly log: Log
  /** With secrets replaced. */
  readonly keepsRaw: boolean
  readonly provider: string
}

export class Traces {
  readonly #options: TracesOptions
  /** Written one after the other, as two traces can go to the same file. */
  #written = Promise.resolve()

  constructor (options: TracesOptions) {
    this.#options = options
  }

  /** A page may have fewer traces than the limit, even none, although there are further ones. @throws REQUEST_INVALID for an unknown cursor */
  async list (caller: Caller, query: { readonly limit: number, readonly cursor?: string }) {
    const { heads, next } = await this.#options.sessions.list(caller, query)
    return { traces: heads.filter(isPlan).map(head => ({ id: traceIdOf(head.id), head })), next }
  }

  /** @throws SESSION_NOT_FOUND, also for a session that is no plan */
  async get (caller: Caller, id: string): Promise<ReturnType<typeof traceOf>> {
    return traceOf(...await this.#read(caller, id), this.#options.keepsRaw)
  }

  /** @throws SESSION_NOT_FOUND, also for a session that is no plan */
  async golden (caller: Caller, id: string): Promise<Golden> {
    return goldenOf(...await this.#read(caller, id), this.#options.provider)
  }

  /** Into the plan's workspace. Does nothing for other sessions; never rejects, since a plan goes on without its trace. */
  async write ({ id, start }: Session): Promise<void> {
    if (!isPlan(start)) return
    const { loadWorkspaces, log } = this.#options
    this.#written = this.#written.then(async () => {
      const trace = await this.get(ANYONE, id)
      await (await loadWorkspaces()).writeTrace(trace.workspace, trace.trace_id, `${stringifyJson(trace, 2)}\n`)
    }).catch((error: unknown) => {
      log.warn({ session: id, reason: (error as Error).message }, 'the trace of a plan could not be written')
    })
    await this.#written
  }

  async #read (caller: Caller, id: string): Promise<[Session, LogEntry[]]> {
    const { sessions } = this.#options
    const session = await sessions.get({ engines: [PLAN] }, caller, sessionOfTrace(id))
    const transitions: LogEntry[] = []
    for await (const transition of await sessions.audit(caller, session.id, 0)) transitions.push(transition)
    return [session, transitions]
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
