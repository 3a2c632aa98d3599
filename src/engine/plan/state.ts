import type { JsonObject } from '../../base/json.ts'
import type { Conflict } from '../../files/change/change-rules.ts'
import type { Memory } from '../../files/memory-rules.ts'
import type { EngineKey } from '../../session/engine.ts'
import type { AutoRequest, ContextBlock } from './messages.ts'
import type { PlanAction, PlanProblem, PlanReply } from './parse-plan.ts'
import type { PlanMode, PlanSetting } from './plan-setting.ts'

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

/** The step in which a plan is. Users and programs see these words. */
export type PlanStep = 'draft' | 'planning' | 'planned' | 'applying' | 'awaiting_confirmation' | 'applied' | 'undone' | 'no_changes' | 'rejected' | 'failed'

/** The purpose of the effect (a request to the model or to the workspace) that a plan waits for. */
export type PlanPurpose = 'context' | 'model' | 'remember' | 'accept' | 'preview' | 'apply' | 'check' | 'rollback' | 'undo' | 'redo' | 'commit'

/** A text that the service has read for the model since the user's last message. `key` names the request for the text (`keyOf`). */
export interface ContextEntry {
  readonly key: string
  /** The text that was read, or a remark that it is missing; `undefined` when it is missing and the model had not asked for it. */
  readonly block: ContextBlock | undefined
}

/** One thing that the service has to read, such as a file. */
export interface PendingRead {
  /** The header under which the model gets the text, if the user's words made the service read the text; `undefined` for all other reads. */
  readonly header: AutoRequest['header'] | undefined
  /** Alternative requests, such as several paths of one file. Only the result of the first request whose file exists is used. */
  readonly requests: readonly JsonObject[]
}

/** An earlier question to the model, with its answer. */
interface PastExchange {
  readonly words: string
  readonly reply: string
}

/** A path that was changed. */
export interface ChangedPath {
  readonly kind: string
  readonly path: string
}

/** The size of the context that the model was sent last. */
interface ContextStats {
  readonly files: number
  readonly dropped: number
  readonly truncated: number
  readonly totalChars: number
  readonly logsChars: number
}

/** How many read requests of the model the cache could answer (hits) and could not answer (misses), by the type of the request. */
export type CacheStats = Readonly<Record<'env' | 'logs' | 'read' | 'search', { readonly hits: number, readonly misses: number }>>

/** The state of a plan. In the mode PLAN the model proposes changes; in APPLY it writes them, and the service applies them. */
export interface PlanState {
  readonly setting: PlanSetting
  /** For a plan that another session started: whether its one goal is done. Left out for the plan of a user, who can set further goals. */
  readonly child?: 'goes-on' | 'over'
  readonly step: PlanStep
  readonly mode: PlanMode
  /** Whether the mode is already chosen. As long as it is not, the preference in the user's memory decides. */
  readonly isRouted: boolean
  /** Whether the goal began in the mode APPLY, without a plan before it: the model has then perhaps not seen the files that it changes. */
  readonly isDirect: boolean
  /** The text that the user gave beside the goal, such as the output of a test or a log. */
  readonly report: string
  /** The words of the user that the model answers now. */
  readonly words: string
  /** The goal of the plan: the last message in which the user said what is to be done. */
  readonly goal: string
  readonly exchanges: readonly PastExchange[]
  /** The git branch of the workspace when its files were read; `undefined` when it is unknown. */
  readonly branch: string | undefined
  /** The last errors with their codes, the newest at the end. */
  readonly recentErrors: readonly string[]
  /** The preferences that the model wants remembered and the user has not agreed to yet; `undefined` when there are none. */
  readonly offered: JsonObject | undefined
  readonly memory: Memory
  readonly context: readonly ContextEntry[]
  readonly pending: readonly PendingRead[]
  readonly cache: CacheStats
  readonly stats: ContextStats | undefined
  /** For each file that the model has been shown, the hash that its content had then, by path. The plan updates no other files. */
  readonly bases: Readonly<Record<string, string>>
  readonly rounds: number
  /** The model's last answer, which was rejected, with the reason; `undefined` when the model is not asked to repair an answer. */
  readonly repair: { readonly reply: string, readonly problem: PlanProblem } | undefined
  readonly hasRepaired: boolean
  /** How often the model was asked for a repair of its answer or change since the user's last message. */
  readonly used: number
  /** The output of the last failed check, for the model; empty once all checks have passed, or the user wants something else. */
  readonly failedCheck: string
  /** The step in which the plan last waited for its user. After an error, the plan goes back to this step if it has changed nothing. */
  readonly rest: 'draft' | 'planned' | 'applied' | 'undone'
  /** The change that waits for the user's consent, exactly as it was shown. */
  readonly held: { readonly digest: string, readonly change: JsonObject, readonly paths: readonly string[] } | undefined
  /** The paths whose diffs the user has agreed to for this goal. A repair is allowed to change them without asking again. */
  readonly agreed: readonly string[]
  /** The id of each change that was made for this goal (the first change and its repairs), the oldest first. One undo takes back all of them. */
  readonly changes: readonly string[]
  /** The number of changes of the goal that were taken back. */
  readonly reversed: number
  /** The changes that a running undo or redo has not reached yet, the conflicts so far, and whether no paths were named; `undefined` while none runs. */
  readonly turning: { readonly left: readonly JsonObject[], readonly conflicts: readonly Conflict[], readonly isWhole?: boolean } | undefined
  /** Whether a change was already applied for the present goal. The first change of a goal begins new lists `applied` and `changes`. */
  readonly hasApplied: boolean
  /** The hash of the changes whose check failed last. If the model's next changes have the same hash, the service asks for no further repair. */
  readonly lastActions: string
  /** The check that the user wants to pass. It runs before the model is asked; if it fails, its output becomes the `report`. */
  readonly fix: string | undefined
  /** The paths of the files that the model has been shown in full; each is a key of `bases`. */
  readonly whole: readonly string[]
  /** Whether the model's API has refused a request with a schema for the answer. Later requests are then sent without a schema. */
  readonly isFormatRefused: boolean
  /** The last accepted answer of the model. The paths of its changes are in normal form. */
  readonly reply: PlanReply | undefined
  /** The plan that the user can have carried out, as the model wrote it, and the context that the model had read. */
  readonly plan: { readonly json: string, readonly context: string } | undefined
  readonly awaits: { readonly effect: string, readonly purpose: PlanPurpose } | undefined
  /** The change that was last shown or made, and whether a person has to approve its deletions; `undefined` before the first change. */
  readonly change: { readonly wish: JsonObject, readonly isAsked: boolean } | undefined
  readonly check: number
  /** The message about the last failed check, which the user gets when the plan gives up the repair; `undefined` while no check has failed. */
  readonly checkFailed: string | undefined
  readonly applied: readonly ChangedPath[]
  readonly undone: readonly ChangedPath[]
  /** The paths that the last undo or redo did not touch, since somebody else has changed them. */
  readonly conflicts: readonly Conflict[]
  readonly summary: string
  /** The summary of the last applied change: the commit message, unless the user gives another one. */
  readonly done: string
  /** The hash of the git commit with the change, if it was committed. */
  readonly commit: string | undefined
  readonly error: PlanProblem | undefined
}
