import { type JsonObject } from '../../base/json.ts'
import { type Conflict } from '../../files/change/conflict.ts'
import { type EngineKey } from '../../session/engine.ts'
import { type PlanAction } from './parse-plan.ts'
import { type PlanSetting } from './plan-setting.ts'
import { type ChangedPath, type PlanStep } from './plan-state.ts'
import { type PlanMode } from './route-mode.ts'

/** The result of a plan, which a program gets by the API. */
export interface PlanResult {
  readonly ok: boolean
  readonly state: PlanStep
  readonly mode: PlanMode
  readonly summary: string
  /** The changes of files that the model's last answer makes; empty in the mode PLAN. */
  readonly actions: readonly PlanAction[]
  readonly error?: string
  readonly error_code?: string
  /** The plan as the model wrote it. */
  readonly plan_json?: string
  /** The texts (files, logs and others) that the model had read when it wrote the plan. */
  readonly plan_context?: string
  readonly applied: readonly ChangedPath[]
  readonly undone: readonly ChangedPath[]
  readonly conflicts?: readonly Conflict[]
  /** The ids of the effects that made the changes of the goal, the oldest first. */
  readonly changes: readonly string[]
  /** The hash of the git commit with the change; absent while there is none. */
  readonly commit?: string
  /** A diff that waits for the user's consent: the change as it was shown. */
  readonly held?: { readonly digest: string, readonly change: JsonObject, readonly paths: readonly string[] }
  /** The preferences that the model wants remembered and the user has not agreed to yet. */
  readonly memory_patch?: JsonObject
  readonly session_memory: {
    readonly current_task_goal: string
    readonly current_branch: string | null
    readonly recent_files: readonly string[]
    readonly recent_errors: readonly string[]
  }
  readonly trace_id: string
  readonly schema_version: number
  readonly schema_hash: string
  readonly context_stats: JsonObject
  readonly cache_stats: JsonObject
}

/** The engine key (name, and types of setting and result) of plans, in which a model proposes and makes changes of files. */
export const PLAN: EngineKey<PlanSetting, PlanResult> = { name: 'plan/1' }
