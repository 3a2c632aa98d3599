import { type Json, type JsonObject } from '../../../base/json.ts'
import { loggedAnswer } from '../../../llm/history.ts'
import { type PlanSetting } from '../../../engine/plan/plan-setting.ts'
import { PLAN, type PlanResult } from '../../../engine/plan/plan-key.ts'
import { isOf, resultOf, startedAs } from '../../../session/engine.ts'
import { type Transition } from '../../../session/model.ts'
import { type Session } from '../../../session/session.ts'
import { maskJson, maskSecrets } from './mask-secrets.ts'

/**
 * The trace of a plan: a record of what happened while the plan was made and carried out. The operator can store traces, so a trace contains
 * neither contents of files nor words of the user, except in `raw_content`.
 */
export interface Trace {
  readonly trace_id: string
  readonly session: string
  readonly workspace: string
  readonly started_at: string
  readonly updated_at: string
  /** The settings of the session, with the length of the profile's prompt in place of the prompt. */
  readonly config_snapshot: JsonObject
  readonly context_stats: Json
  readonly cache_stats: Json
  readonly events: readonly JsonObject[]
  readonly result: JsonObject
  /** The model's answers with secrets replaced; left out unless the operator asks for them. */
  readonly raw_content?: readonly string[]
}

/** The most events of one trace. A longer session's trace has only the first events. */
const MAX_EVENTS = 1000

/** Members of a line that a session logs, which are not copied into the trace's event. `event` is put there in any case, the others are left out. */
const OF_THE_LINE = new Set(['prefix', 'level', 'text', 'trace_id', 'event'])

/** The id of a plan's trace: the id of its session, written as a UUID. */
export function traceIdOf (session: string): string {
  return session.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The id of the session to which a trace belongs. @param id of the trace, with or without dashes */
export function sessionOfTrace (id: string): string {
  return id.replaceAll('-', '').toLowerCase()
}

/** Whether a session is a plan, by its engine. */
export function isPlan ({ engine }: { readonly engine: string }): boolean {
  return isOf(engine, PLAN)
}

/** Makes the trace of a plan from the log of its session. @param keepsRaw whether the trace contains the model's answers */
export function traceOf (session: Session, transitions: readonly Transition[], keepsRaw: boolean): Trace {
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
    ...(keepsRaw ? { raw_content: answersOf(transitions).map(answer => maskSecrets(textOf(answer))) } : {})
  }
}

/** The model's answers in a plan, in the order of the log. */
export function answersOf (transitions: readonly Transition[]): Json[] {
  const asked = new Set(transitions.flatMap(({ begun }) => begun.filter(({ kind }) => kind === 'llm').map(({ id }) => id)))
  return transitions.flatMap(({ fact }) => fact.kind === 'result' && asked.has(fact.effect) ? [fact.result] : [])
}

/** The text of a model's answer. */
export function textOf (answer: Json): string {
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

function eventsOf ({ at, notices }: Transition): JsonObject[] {
  return notices.flatMap(({ type, data }) => {
    if (type !== 'log' || typeof data['event'] !== 'string') return []
    const values = Object.entries(data).filter(([name]) => !OF_THE_LINE.has(name))
    return [maskJson({ at: new Date(at).toISOString(), event: data['event'], ...Object.fromEntries(values) }) as JsonObject]
  })
}

/** The result of a plan for its trace: only names and codes. Contents of files and outputs of checks stay in the session's log. */
function outcomeOf ({ ok, state, mode, error_code: code, actions, applied, undone }: PlanResult): JsonObject {
  return maskJson({ ok, state, mode, error_code: code ?? null, actions: pathsOf(actions), applied: pathsOf(applied), undone: pathsOf(undone) }) as JsonObject
}

function pathsOf (changes: PlanResult['applied']): Json {
  return changes.map(({ kind, path }) => ({ kind, path }))
}
