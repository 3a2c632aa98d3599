import { ANYONE, type Caller } from '../../access/caller.ts'
import { isJsonObject, type Json, type JsonObject, ownField, stringifyJson, textOf } from '../../base/json.ts'
import { maskSecrets } from '../../base/redact.ts'
import { isProblem, parsePlan } from '../../engine/plan/parse-plan.ts'
import type { PlanSetting } from '../../engine/plan/plan-setting.ts'
import { PLAN, type PlanResult } from '../../engine/plan/plan-state.ts'
import type { Workspaces } from '../../files/workspaces.ts'
import { loggedAnswer } from '../../llm/history.ts'
import type { Log } from '../../runtime/telemetry.ts'
import { isOf, resultOf, startedAs } from '../../session/engine.ts'
import type { LogEntry } from '../../session/model.ts'
import type { Session } from '../../session/session.ts'
import { traceIdOf } from './kind-table.ts'
import type { SessionService } from './session-service.ts'

export class Traces {
  readonly #sessions: SessionService
  readonly #loadWorkspaces: () => Promise<Workspaces>
  readonly #log: Log
  readonly #keepsRaw: boolean
  readonly #provider: string
  /** Written one after the other, as two traces can go to the same file. */
  #written = Promise.resolve()

  /** @param keepsRaw with secrets replaced */
  constructor (sessions: SessionService, loadWorkspaces: () => Promise<Workspaces>, log: Log, keepsRaw: boolean, provider: string) {
    this.#sessions = sessions
    this.#loadWorkspaces = loadWorkspaces
    this.#log = log
    this.#keepsRaw = keepsRaw
    this.#provider = provider
  }

  /** A page may have fewer traces than the limit, even none, although there are further ones. @throws REQUEST_INVALID for an unknown cursor */
  async list (caller: Caller, query: { readonly limit: number, readonly cursor?: string }) {
    const { heads, next } = await this.#sessions.list(caller, query)
    return { traces: heads.filter(isPlan).map(head => ({ id: traceIdOf(head.id), head })), next }
  }

  /** @throws SESSION_NOT_FOUND, also for a session that is no plan */
  async get (caller: Caller, id: string): Promise<ReturnType<typeof traceOf>> {
    return traceOf(...await this.#read(caller, id), this.#keepsRaw)
  }

  /** @throws SESSION_NOT_FOUND, also for a session that is no plan */
  async golden (caller: Caller, id: string): Promise<Golden> {
    return goldenOf(...await this.#read(caller, id), this.#provider)
  }

  /** Into the plan's workspace. Does nothing for other sessions; never rejects, since a plan goes on without its trace. */
  async write ({ id, start }: Session): Promise<void> {
    if (!isPlan(start)) return
    this.#written = this.#written.then(async () => {
      const trace = await this.get(ANYONE, id)
      await (await this.#loadWorkspaces()).writeTrace(trace.workspace, trace.trace_id, `${stringifyJson(trace, 2)}\n`)
    }).catch((error: unknown) => {
      this.#log.warn({ session: id, reason: (error as Error).message }, 'the trace of a plan could not be written')
    })
    await this.#written
  }

  async #read (caller: Caller, id: string): Promise<[Session, LogEntry[]]> {
    const session = await this.#sessions.get({ engines: [PLAN] }, caller, sessionOfTrace(id))
    const transitions: LogEntry[] = []
    for await (const transition of await this.#sessions.audit(caller, session.id, 0)) transitions.push(transition)
    return [session, transitions]
  }
}

export function maskJson (value: Json): Json {
  if (typeof value === 'string') return maskSecrets(value)
  if (Array.isArray(value)) return value.map((each: Json) => maskJson(each))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [maskSecrets(name), maskJson(each)]))
}

/** A longer session's trace has only the first events. */
const MAX_EVENTS = 1000

const OF_THE_LINE = new Set(['prefix', 'level', 'text', 'trace_id', 'event'])

export function sessionOfTrace (id: string): string {
  return id.replaceAll('-', '').toLowerCase()
}

function isPlan ({ engine }: { readonly engine: string }): boolean {
  return isOf(engine, PLAN)
}

/**
 * The trace of a plan: a record of what happened while the plan was made and carried out. The operator can store traces, so a trace contains
 * neither contents of files nor words of the user, except in `raw_content`: there only if the operator asks for it, and with secrets replaced.
 */
export function traceOf (session: Session, transitions: readonly LogEntry[], keepsRaw: boolean) {
  const { id, start, createdAt, updatedAt } = session
  const { setting } = startedAs(start, PLAN)
  const result = resultOf(session, PLAN)
  return {
    trace_id: traceIdOf(id),
    session: id,
    workspace: setting.workspace,
    started_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
    config_snapshot: snapshotOf(setting),
    context_stats: result.context_stats,
    cache_stats: result.cache_stats,
    events: transitions.flatMap(eventsOf).slice(0, MAX_EVENTS),
    result: outcomeOf(result),
    raw_content: keepsRaw ? answersOf(transitions).map(answer => maskSecrets(answerText(answer))) : undefined
  }
}

function answersOf (transitions: readonly LogEntry[]): Json[] {
  const asked = new Set(transitions.flatMap(({ begun }) => begun.filter(({ kind }) => kind === 'llm').map(({ id }) => id)))
  return transitions.flatMap(({ fact }) => fact.kind === 'result' && asked.has(fact.effect) ? [fact.result] : [])
}

function answerText (answer: Json): string {
  return loggedAnswer(answer)?.text ?? ''
}

function snapshotOf (setting: PlanSetting): JsonObject {
  const { schemaVersion, schemaHash, isStrict, model, temperature, maxTokens, timeout, eol, remembers, checks, limits, prompt } = setting
  return {
    schema_version: schemaVersion,
    schema_hash: schemaHash,
    strict_json: isStrict,
    model,
    temperature,
    max_tokens: maxTokens,
    timeout_ms: timeout,
    normalize_eol: eol,
    memory_autopatch: remembers,
    checks: [...checks],
    limits: { ...limits },
    profile_prompt_chars: prompt.length
  }
}

function eventsOf ({ at, notices }: LogEntry): JsonObject[] {
  return notices.flatMap(({ type, data }) => {
    if (type !== 'log' || typeof data['event'] !== 'string') return []
    const values = Object.entries(data).filter(([name]) => !OF_THE_LINE.has(name))
    return [maskJson({ at: new Date(at).toISOString(), event: data['event'], ...Object.fromEntries(values) }) as JsonObject]
  })
}

/** Only names and codes: contents of files and outputs of checks stay in the session's log. */
function outcomeOf ({ ok, state, mode, error_code: code, actions, applied, undone }: PlanResult): JsonObject {
  return maskJson({ ok, state, mode, error_code: code ?? null, actions: pathsOf(actions), applied: pathsOf(applied), undone: pathsOf(undone) }) as JsonObject
}

function pathsOf (changes: PlanResult['applied']): Json {
  return changes.map(({ kind, path }) => ({ kind, path }))
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

const METHODS: ReadonlyMap<string, keyof Log> = new Map([['debug', 'debug'], ['info', 'info'], ['warning', 'warn'], ['error', 'error'], ['critical', 'error']])

/** Texts of the service itself: logged even if words of users and models are not. */
const PLAIN = new Set(['code', 'mode', 'check', 'action', 'name', 'skill_name', 'serverId', 'serverName', 'skill_log_id', 'session_id'])

/** In UTF-16 units; a longer text is left out, since a user or a model perhaps wrote it. */
const MAX_PLAIN = 200

/** They become fields of their own in the service's log. */
const APART = new Set(['prefix', 'level', 'text', 'brief', 'event', 'trace_id'])

/** Only the process that has written a log entry copies its lines, so each is logged once. */
export function logLinesTo (log: Log, hasValues: boolean): (session: Pick<Session, 'id' | 'start'>, transition: Pick<LogEntry, 'notices'>) => void {
  return ({ id, start: { definition } }, { notices }) => {
    for (const { type, data } of notices) {
      if (type !== 'log') continue
      const { prefix, level, text, brief, event } = data
      const method = METHODS.get(textOf(level)) ?? 'info'
      const shown = textOf(event) || textOf(brief) || textOf(text)
      const more = dataOf(data, hasValues)
      log[method]({
        session: id,
        traceId: traceIdOf(id),
        definition,
        prefix: textOf(prefix),
        severity: textOf(level),
        ...(event === undefined ? {} : { event: textOf(event) }),
        ...(Object.keys(more).length === 0 ? {} : { data: more }),
        ...(hasValues && text !== shown ? { text: textOf(text) } : {})
      }, `[${textOf(prefix)}] ${shown}`)
    }
  }
}

function dataOf (data: JsonObject, hasValues: boolean): JsonObject {
  return Object.fromEntries(Object.entries(data).filter(([name, value]) => !APART.has(name) && (hasValues || isPlain(name, value))))
}

function isPlain (name: string, value: Json): boolean {
  return typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && value.length <= MAX_PLAIN && PLAIN.has(name))
}
