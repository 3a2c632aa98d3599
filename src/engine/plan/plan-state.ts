import { type Json, type JsonObject } from '../../base/json.ts'
import { type EngineKey } from '../../session/engine.ts'
import { clip } from '../clip.ts'
import { type ContextBlock } from './context-blocks.ts'
import { type AutoRequest } from './auto-context.ts'
import { type Memory } from './memory.ts'
import { type PlanAction, type PlanProblem, type PlanReply } from './parse-plan.ts'
import { type PlanSetting } from './plan-setting.ts'
import { type PlanMode } from './route-mode.ts'

/** How far a plan is, in the words of the protocol (P-15). */
export type PlanStep = 'planning' | 'planned' | 'applying' | 'awaiting_confirmation' | 'applied' | 'undone' | 'no_changes' | 'rejected' | 'failed'

/** What is waited for. */
export type PlanPurpose = 'context' | 'model' | 'remember' | 'accept' | 'preview' | 'apply' | 'check' | 'rollback' | 'undo' | 'redo'

/** Something that was read in this cycle, so that it is not read again (P-28). */
export interface ContextEntry {
  readonly key: string
  /** `undefined` when it was not there, and nobody has to know. */
  readonly block: ContextBlock | undefined
}

/** Requests of one read; the blocks of its result belong to them in turn. */
export interface PendingRead {
  /** `undefined` for what the model asked for. */
  readonly header: AutoRequest['header'] | undefined
  /** Of these, the first that exists. */
  readonly requests: readonly JsonObject[]
}

/** What was asked of the model, and what it answered. */
export interface Exchange {
  readonly words: string
  readonly reply: string
}

/** A path that was changed. */
export interface ChangedPath {
  readonly kind: string
  readonly path: string
}

/** A path that could not be taken back or done again, and why. */
export interface Conflict {
  readonly path: string
  readonly reason: string
}

/** What a model is to read, as it was sent last. */
export interface ContextStats {
  readonly files: number
  readonly dropped: number
  readonly truncated: number
  readonly totalChars: number
  readonly logsChars: number
}

/** Hits and misses of the cycle's cache, by the type of the request (P-39). */
export type CacheStats = Readonly<Record<'env' | 'logs' | 'read' | 'search', { readonly hits: number, readonly misses: number }>>

/** A plan: it is made in PLAN, carried out in APPLY, and undone when it is wanted. */
export interface PlanState {
  readonly setting: PlanSetting
  readonly step: PlanStep
  readonly mode: PlanMode
  /** Whether the words or the request chose the mode; if not, what is remembered of the user does (X5). */
  readonly isRouted: boolean
  /** Whether this began in APPLY, with no plan before it (X12). */
  readonly isDirect: boolean
  /** What the user brought beside the goal: the output of a test, a log. */
  readonly report: string
  /** What is to be answered now. */
  readonly words: string
  /** What the plan is about, as its user said last. */
  readonly goal: string
  readonly exchanges: readonly Exchange[]
  /** The branch of git when the files were read. */
  readonly branch: string | undefined
  /** What went wrong last, with codes; the newest is the last. */
  readonly recentErrors: readonly string[]
  /** What the model wants remembered, and nobody has agreed to yet. */
  readonly offered: JsonObject | undefined
  readonly memory: Memory
  readonly context: readonly ContextEntry[]
  readonly pending: readonly PendingRead[]
  readonly cache: CacheStats
  readonly stats: ContextStats | undefined
  /** The files that the model has been shown, by path, as they are on disk (P-14). */
  readonly bases: Readonly<Record<string, string>>
  readonly rounds: number
  /** The answer that was not taken, while it is being repaired; one repair in all (P-06). */
  readonly repair: { readonly reply: string, readonly problem: PlanProblem } | undefined
  readonly hasRepaired: boolean
  /** Whether the model's API knows no schema of answers (P-07). */
  readonly isFormatRefused: boolean
  /** The answer that is being carried out, its paths in their one form. */
  readonly reply: PlanReply | undefined
  /** The plan that may be carried out, as the model wrote it, and what it had read. */
  readonly plan: { readonly json: string, readonly context: string } | undefined
  readonly awaits: { readonly effect: string, readonly purpose: PlanPurpose } | undefined
  /** The change that is being shown or made, and whether a person was asked about it. */
  readonly change: { readonly wish: JsonObject, readonly isAsked: boolean } | undefined
  readonly check: number
  /** What a failed check said, while its change is taken back. */
  readonly checkFailed: string | undefined
  readonly applied: readonly ChangedPath[]
  readonly undone: readonly ChangedPath[]
  /** What the last undo or redo has left alone, since somebody else had been there. */
  readonly conflicts: readonly Conflict[]
  readonly summary: string
  readonly error: PlanProblem | undefined
}

/** What a plan came to, as programs read it (P-04). */
export function resultOf (state: PlanState): JsonObject {
  const { step, mode, summary, error, reply, plan, stats, cache, applied, undone, conflicts, offered, setting: { traceId, schemaVersion, schemaHash } } = state
  const actions: readonly PlanAction[] = mode === 'apply' ? reply?.actions ?? [] : []
  return {
    ok: error === undefined,
    state: step,
    mode,
    summary,
    actions: actions.map(action => ({ ...action })),
    ...(error === undefined ? {} : { error: error.message, error_code: error.code }),
    ...(plan === undefined ? {} : { plan_json: plan.json, plan_context: plan.context }),
    applied: applied.map(change => ({ ...change })),
    undone: undone.map(change => ({ ...change })),
    ...(conflicts.length === 0 ? {} : { conflicts: conflicts.map(conflict => ({ ...conflict })) }),
    ...(offered === undefined ? {} : { memory_patch: offered }),
    session_memory: sessionMemoryOf(state),
    trace_id: traceId,
    schema_version: schemaVersion,
    schema_hash: schemaHash,
    context_stats: {
      context_files_count: stats?.files ?? 0,
      context_files_dropped_count: stats?.dropped ?? 0,
      context_total_chars: stats?.totalChars ?? 0,
      context_logs_chars: stats?.logsChars ?? 0,
      context_truncated_files_count: stats?.truncated ?? 0
    },
    cache_stats: cacheStatsOf(cache)
  }
}

/** That, with its types. */
export interface PlanResult {
  readonly ok: boolean
  readonly state: PlanStep
  readonly mode: PlanMode
  readonly summary: string
  readonly actions: PlanAction[]
  readonly error?: string
  readonly error_code?: string
  readonly plan_json?: string
  readonly plan_context?: string
  readonly applied: ChangedPath[]
  readonly undone: ChangedPath[]
  readonly conflicts?: Array<Conflict & { readonly reason: 'changed' | 'gone' | 'there' | 'filled' }>
  readonly memory_patch?: JsonObject
  readonly session_memory: { readonly current_task_goal: string, readonly current_branch: string | null, readonly recent_files: string[], readonly recent_errors: string[] }
  readonly trace_id: string
  readonly context_stats: JsonObject
  readonly cache_stats: JsonObject
}

/** The engine of plans. */
export const PLAN: EngineKey<PlanSetting, PlanResult> = { name: 'plan/1' }

/** So many paths are told of, and a goal so long, in code points. */
const MAX_FILES = 20
const MAX_GOAL = 500

/** What a session remembers of itself (P-35): for who looks at it; no model is told. */
function sessionMemoryOf ({ goal, branch, bases, applied, undone, recentErrors }: PlanState): JsonObject {
  const files = [...new Set([...Object.keys(bases), ...undone.map(({ path }) => path), ...applied.map(({ path }) => path)])]
  return { current_task_goal: clip(goal, MAX_GOAL), current_branch: branch ?? null, recent_files: files.slice(-MAX_FILES), recent_errors: [...recentErrors] }
}

function cacheStatsOf (cache: CacheStats): JsonObject {
  const counts = Object.entries(cache)
  const hits = counts.reduce((sum, [, count]) => sum + count.hits, 0)
  const all = counts.reduce((sum, [, count]) => sum + count.hits + count.misses, 0)
  const flat = counts.flatMap(([type, count]): Array<[string, Json]> => [[`${type}_hits`, count.hits], [`${type}_misses`, count.misses]])
  return { ...Object.fromEntries(flat), hit_rate: all === 0 ? 0 : hits / all }
}
