import type { JsonObject } from '../../base/json.ts'
import type { Conflict, RequestedAction } from '../../files/change/change-rules.ts'
import type { Memory } from '../../files/memory-rules.ts'
import type { EngineKey } from '../../session/engine.ts'
import type { AutoRequest, ContextBlock } from './messages.ts'
import type { PlanProblem, PlanReply } from './parse-plan.ts'
import type { PlanMode, PlanSetting } from './plan-setting.ts'

export interface PlanResult {
  readonly ok: boolean
  readonly state: PlanStep
  readonly mode: PlanMode
  readonly summary: string
  /** Empty in the mode PLAN. */
  readonly actions: readonly RequestedAction[]
  readonly error?: string
  readonly error_code?: string
  readonly plan_json?: string
  readonly plan_context?: string
  readonly applied: readonly ChangedPath[]
  readonly undone: readonly ChangedPath[]
  readonly conflicts?: readonly Conflict[]
  /** Effects that made the goal's changes, the oldest first. */
  readonly changes: readonly string[]
  readonly commit?: string
  /** The change as it was shown. */
  readonly held?: { readonly digest: string, readonly change: JsonObject, readonly paths: readonly string[] }
  /** The user has not agreed to them yet. */
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

export const PLAN: EngineKey<PlanSetting, PlanResult> = { name: 'plan/1' }

export type PlanStep = 'draft' | 'planning' | 'planned' | 'applying' | 'awaiting_confirmation' | 'applied' | 'undone' | 'no_changes' | 'rejected' | 'failed'

export type PlanPurpose = 'context' | 'model' | 'remember' | 'accept' | 'preview' | 'apply' | 'check' | 'rollback' | 'undo' | 'redo' | 'commit'

/** Since the user's last message. `key` is from `keyOf`. */
export interface ContextEntry {
  readonly key: string
  /** `undefined` when it is missing and the model had not asked for it. */
  readonly block: ContextBlock | undefined
}

export interface PendingRead {
  /** Only where the user's words made the service read it. */
  readonly header: AutoRequest['header'] | undefined
  /** Only the result of the first request whose file exists is used. */
  readonly requests: readonly JsonObject[]
}

export interface ChangedPath {
  readonly kind: string
  readonly path: string
}

export type CacheStats = Readonly<Record<'env' | 'logs' | 'read' | 'search', { readonly hits: number, readonly misses: number }>>

export interface PlanState {
  readonly setting: PlanSetting
  /** For a child plan: whether its one goal is done. A user's plan can get further goals. */
  readonly child?: 'goes-on' | 'over'
  readonly step: PlanStep
  readonly mode: PlanMode
  /** While it is not chosen, the user's stored preference decides. */
  readonly isRouted: boolean
  /** The goal began in APPLY, without a plan: the model has perhaps not seen the files that it changes. */
  readonly isDirect: boolean
  readonly report: string
  readonly words: string
  readonly goal: string
  readonly exchanges: readonly { readonly words: string, readonly reply: string }[]
  /** The branch of Git that was checked out when the files were read; left out where there is no Git. */
  readonly branch?: string
  readonly recentErrors: readonly string[]
  /** The user has not agreed to them yet. */
  readonly offered?: JsonObject
  readonly memory: Memory
  readonly context: readonly ContextEntry[]
  readonly pending: readonly PendingRead[]
  readonly cache: CacheStats
  readonly stats?: {
    readonly files: number
    readonly dropped: number
    readonly truncated: number
    readonly totalChars: number
    readonly logsChars: number
  }
  /** Hashes of the files as the model was shown them. The plan updates no other files. */
  readonly bases: Readonly<Record<string, string>>
  readonly rounds: number
  readonly repair?: { readonly reply: string, readonly problem: PlanProblem }
  readonly hasRepaired: boolean
  readonly used: number
  /** Empty once all checks have passed, or the user wants something else. */
  readonly failedCheck: string
  /** After an error the plan goes back to this step if it has changed nothing. */
  readonly rest: 'draft' | 'planned' | 'applied' | 'undone'
  /** Exactly as it was shown. */
  readonly held?: { readonly digest: string, readonly change: JsonObject, readonly paths: readonly string[] }
  /** A repair may change these files without asking again. */
  readonly agreed: readonly string[]
  /** The first change and its repairs, the oldest first. One undo takes back all of them. */
  readonly changes: readonly string[]
  readonly reversed: number
  /** What a running undo or redo has not reached, its conflicts, and whether no paths were named. */
  readonly turning?: { readonly left: readonly JsonObject[], readonly conflicts: readonly Conflict[], readonly isWhole?: boolean }
  /** The first change of a goal begins new lists `applied` and `changes`. */
  readonly hasApplied: boolean
  /** Hash of the changes whose check failed last: equal ones are not repaired again. */
  readonly lastActions: string
  /** Runs before the model is asked; its failed output becomes the `report`. */
  readonly fix?: string
  /** Shown in full; each is a key of `bases`. */
  readonly whole: readonly string[]
  /** Later requests are then sent without a schema. */
  readonly isFormatRefused: boolean
  /** With paths in normal form. */
  readonly reply?: PlanReply
  /** As the model wrote it, and what it had read. */
  readonly plan?: { readonly json: string, readonly context: string }
  readonly awaits?: { readonly effect: string, readonly purpose: PlanPurpose }
  readonly change?: { readonly wish: JsonObject, readonly isAsked: boolean }
  readonly check: number
  /** For the user when the plan gives up the repair. */
  readonly checkFailed?: string
  readonly applied: readonly ChangedPath[]
  readonly undone: readonly ChangedPath[]
  /** Somebody else has changed these paths. */
  readonly conflicts: readonly Conflict[]
  readonly summary: string
  /** The commit message, unless the user gives another one. */
  readonly done: string
  readonly commit?: string
  readonly error?: PlanProblem
}
