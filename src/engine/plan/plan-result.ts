import { type Json, type JsonObject } from '../../base/json.ts'
import { clip } from '../shared/clip.ts'
import { type PlanAction } from './parse-plan.ts'
import { type PlanResult } from './plan-key.ts'
import { type CacheStats, type PlanState } from './plan-state.ts'

/** Makes the result of a plan, which a program gets by the API. */
export function describePlan (state: PlanState): PlanResult {
  const { step, mode, summary, error, reply, plan, stats, cache, applied, undone, conflicts, offered, held } = state
  const { traceId, schemaVersion, schemaHash } = state.setting
  const actions: readonly PlanAction[] = mode === 'apply' ? reply?.actions ?? [] : []
  return {
    ok: error === undefined,
    state: step,
    mode,
    summary,
    actions,
    ...(error === undefined ? {} : { error: error.message, error_code: error.code }),
    ...(plan === undefined ? {} : { plan_json: plan.json, plan_context: plan.context }),
    applied,
    undone,
    changes: state.changes,
    ...(conflicts.length === 0 ? {} : { conflicts }),
    ...(state.commit === undefined ? {} : { commit: state.commit }),
    ...(held === undefined ? {} : { held }),
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

/** The largest number of recent paths in the result, and the length to which the goal in the result is cut, in code points. */
const MAX_FILES = 20
const MAX_GOAL = 500

/** The memory that a session has of its own work, for people and programs that look at it. No model reads it. */
function sessionMemoryOf ({ goal, branch, bases, applied, undone, recentErrors }: PlanState): PlanResult['session_memory'] {
  const files = [...new Set([...Object.keys(bases), ...undone.map(({ path }) => path), ...applied.map(({ path }) => path)])]
  return { current_task_goal: clip(goal, MAX_GOAL), current_branch: branch ?? null, recent_files: files.slice(-MAX_FILES), recent_errors: recentErrors }
}

function cacheStatsOf (cache: CacheStats): JsonObject {
  const counts = Object.entries(cache)
  const hits = counts.reduce((sum, [, count]) => sum + count.hits, 0)
  const all = counts.reduce((sum, [, count]) => sum + count.hits + count.misses, 0)
  const flat = counts.flatMap(([type, count]): Array<[string, Json]> => [[`${type}_hits`, count.hits], [`${type}_misses`, count.misses]])
  return { ...Object.fromEntries(flat), hit_rate: all === 0 ? 0 : hits / all }
}
