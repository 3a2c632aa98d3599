import { type Json, type JsonObject, textOf } from '../../base/json.ts'
import type { Engine } from '../../session/engine.ts'
import { clip } from '../clip.ts'
import { endedOf, Turn } from '../reducer.ts'
import { NO_CACHE } from './cycle-cache.ts'
import { intentOf } from './plan-input.ts'
import { type CacheStats, PLAN, type PlanResult, type PlanState, type PlanStep } from './plan-state.ts'
import { onApproved, onEnded, onInput, onRejected, start } from './plan-reducer.ts'
import { type PlanSetting, routeMode } from './plan-setting.ts'

function describePlan (state: PlanState): PlanResult {
  const { step, mode, summary, error, reply, plan, stats, cache, applied, undone, conflicts, offered, held } = state
  const { traceId, schemaVersion, schemaHash } = state.setting
  const actions = mode === 'apply' ? reply?.actions ?? [] : []
  return {
    ok: error === undefined,
    state: step,
    mode,
    summary,
    actions,
    error: error?.message,
    error_code: error?.code,
    plan_json: plan?.json,
    plan_context: plan?.context,
    applied,
    undone,
    changes: state.changes,
    conflicts: conflicts.length === 0 ? undefined : conflicts,
    commit: state.commit,
    held,
    memory_patch: offered,
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

/** Paths, and code points of the goal. */
const MAX_FILES = 20
const MAX_GOAL = 500

/** For people and programs; no model reads it. */
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

/** In PLAN a model proposes changes of files; in APPLY it writes them, and the service applies them. */
export const planEngine: Engine<PlanSetting, PlanState, PlanResult> = {
  ...PLAN,
  begin ({ setting, input, parent }, moment) {
    const state = begun(setting, input)
    const turn = new Turn<PlanState>(parent === undefined ? state : { ...state, child: 'goes-on' }, moment)
    start(turn)
    return turn
  },
  next (state, fact, moment) {
    const turn = new Turn(state, moment)
    const ended = endedOf(fact)
    if (fact.kind === 'input') onInput(turn, fact.text, fact.action)
    else if (fact.kind === 'decided' && fact.decision === 'approve') onApproved(turn, fact.effect)
    else if (fact.kind === 'refused' && fact.by === 'person') onRejected(turn, fact.effect)
    else if (ended !== undefined && 'effect' in fact) onEnded(turn, fact.effect, ended)
    return turn
  },
  view (state) {
    const { mode, step } = state
    return { stateName: step, outcome: outcomeOf(state), mayWrite: mode === 'apply' && WRITING.has(step), result: describePlan(state) }
  },
  refuses (state, text, action) {
    const intent = intentOf(state, text, action)
    return 'kind' in intent ? intent : undefined
  }
}

const OUTCOMES: Readonly<Partial<Record<PlanStep, 'completed' | 'failed'>>> = { no_changes: 'completed', rejected: 'completed', failed: 'failed' }

function outcomeOf ({ step, child, error }: PlanState): 'open' | 'completed' | 'failed' {
  return OUTCOMES[step] ?? (child !== 'over' ? 'open' : error === undefined ? 'completed' : 'failed')
}

const WRITING: ReadonlySet<PlanStep> = new Set<PlanStep>(['applying', 'awaiting_confirmation', 'applied', 'undone'])

function begun (setting: PlanSetting, input: JsonObject): PlanState {
  const { goal: said, mode: asked, report, fix } = input
  const { mode, goal } = routeMode(textOf(said), false)
  const chosen = typeof fix === 'string' ? 'apply' : asked === 'plan' || asked === 'apply' ? asked : mode
  return {
    setting,
    step: 'planning',
    mode: chosen ?? 'plan',
    isRouted: chosen !== undefined,
    isDirect: chosen === 'apply',
    report: textOf(report),
    words: goal,
    goal,
    exchanges: [],
    recentErrors: [],
    memory: { user: {}, project: {} },
    context: [],
    pending: [],
    cache: NO_CACHE,
    bases: {},
    rounds: 0,
    hasRepaired: false,
    used: 0,
    failedCheck: '',
    rest: 'draft',
    agreed: [],
    changes: [],
    reversed: 0,
    hasApplied: false,
    lastActions: '',
    fix: typeof fix === 'string' ? fix : undefined,
    whole: [],
    isFormatRefused: false,
    check: 0,
    applied: [],
    undone: [],
    conflicts: [],
    summary: '',
    done: ''
  }
}
