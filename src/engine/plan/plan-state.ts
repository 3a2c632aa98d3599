import { type JsonObject } from '../../base/json.ts'
import { type Conflict } from '../../files/change/conflict.ts'
import { type ContextBlock } from './context-blocks.ts'
import { type AutoRequest } from './auto-context.ts'
import { type Memory } from './memory.ts'
import { type PlanProblem, type PlanReply } from './parse-plan.ts'
import { type PlanSetting } from './plan-setting.ts'
import { type PlanMode } from './route-mode.ts'

/** The step of a plan, in the words of the protocol. */
export type PlanStep = 'draft' | 'planning' | 'planned' | 'applying' | 'awaiting_confirmation' | 'applied' | 'undone' | 'no_changes' | 'rejected' | 'failed'

/** The purpose of the effect that a plan waits for. */
export type PlanPurpose = 'context' | 'model' | 'remember' | 'accept' | 'preview' | 'apply' | 'check' | 'rollback' | 'undo' | 'redo' | 'commit'

/** A read that the service has made in the present cycle, with the key of its request in the cycle's cache. */
export interface ContextEntry {
  readonly key: string
  /** The block that was read; `undefined` where nothing was found and the model is not told so. */
  readonly block: ContextBlock | undefined
}

/** The requests of one read. The blocks of the result answer them in their order. */
export interface PendingRead {
  /** The header of a read that the service makes by itself; `undefined` for one that the model asked for. */
  readonly header: AutoRequest['header'] | undefined
  /** Alternative requests: the first one whose file exists counts. */
  readonly requests: readonly JsonObject[]
}

/** An earlier question to the model, with its answer. */
export interface Exchange {
  readonly words: string
  readonly reply: string
}

/** A path that was changed. */
export interface ChangedPath {
  readonly kind: string
  readonly path: string
}

/** The size of the context that the model was sent last. */
export interface ContextStats {
  readonly files: number
  readonly dropped: number
  readonly truncated: number
  readonly totalChars: number
  readonly logsChars: number
}

/** Hits and misses of the cycle's cache, by the type of the request. */
export type CacheStats = Readonly<Record<'env' | 'logs' | 'read' | 'search', { readonly hits: number, readonly misses: number }>>

/** The state of a plan, which is made in PLAN, carried out in APPLY, and undone on request. */
export interface PlanState {
  readonly setting: PlanSetting
  /** Whether a child session is over; left out for the plan of a user. A child gets no second goal. */
  readonly child?: 'goes-on' | 'over'
  readonly step: PlanStep
  readonly mode: PlanMode
  /** Whether the user's words or the request chose the mode; if not, the user's entry in the memory does. */
  readonly isRouted: boolean
  /** Whether the goal began in APPLY, without a plan before it: then the model has not seen a file yet. */
  readonly isDirect: boolean
  /** The text that the user gave beside the goal, such as the output of a test or a log. */
  readonly report: string
  /** The words of the user that the model answers now. */
  readonly words: string
  /** The goal of the plan: the last message in which the user said what is to be done. */
  readonly goal: string
  readonly exchanges: readonly Exchange[]
  /** The git branch of the workspace when its files were read; `undefined` when it is unknown. */
  readonly branch: string | undefined
  /** The last errors with their codes, the newest at the end. */
  readonly recentErrors: readonly string[]
  /** The memory patch that the model has offered and the user has not agreed to yet; `undefined` when there is none. */
  readonly offered: JsonObject | undefined
  readonly memory: Memory
  readonly context: readonly ContextEntry[]
  readonly pending: readonly PendingRead[]
  readonly cache: CacheStats
  readonly stats: ContextStats | undefined
  /** The hashes on disk of the files that the model has been shown, by path. No other file is updated. */
  readonly bases: Readonly<Record<string, string>>
  readonly rounds: number
  /** The rejected answer that the model is repairing, with its problem. Schema 1 has one repair in all. */
  readonly repair: { readonly reply: string, readonly problem: PlanProblem } | undefined
  readonly hasRepaired: boolean
  /** How many rounds of repair were used since the user spoke last. */
  readonly used: number
  /** The output of the last failed check, for the model; empty once the check has passed, or the user wants something else. */
  readonly failedCheck: string
  /** The step in which the plan waited for its user last, to which it goes back after an error. */
  readonly rest: 'draft' | 'planned' | 'applied' | 'undone'
  /** The change that waits for the user's consent, exactly as it was shown. */
  readonly held: { readonly digest: string, readonly change: JsonObject, readonly paths: readonly string[] } | undefined
  /** The paths of the diffs that the user agreed to for this goal. A round of repair may write them without asking again. */
  readonly agreed: readonly string[]
  /** The ids of the effects that have made the changes for this goal, the oldest first. One undo takes back all these changes. */
  readonly changes: readonly string[]
  /** The number of changes of the goal that were taken back. */
  readonly reversed: number
  /** The changes that are still to be undone or redone, and the conflicts so far; `undefined` while no undo or redo runs. */
  readonly turning: { readonly left: readonly JsonObject[], readonly conflicts: readonly Conflict[] } | undefined
  /** Whether a change was applied for the present goal already. The first change of a goal replaces the list of what was applied for the goal before. */
  readonly hasApplied: boolean
  /** The hash of the model's actions in the previous round of repair. Equal actions show that the model repeats itself. */
  readonly lastActions: string
  /** The check that runs before the model is asked; its failure becomes the report of the goal. */
  readonly fix: string | undefined
  /** The files of `bases` that the model has been shown in full. */
  readonly whole: readonly string[]
  /** Whether the model's API has refused a request with a schema for the answer. Later requests then have none. */
  readonly isFormatRefused: boolean
  /** The answer that is being carried out, with its paths in normal form. */
  readonly reply: PlanReply | undefined
  /** The plan that may be carried out, as the model wrote it, and the context that the model had read. */
  readonly plan: { readonly json: string, readonly context: string } | undefined
  readonly awaits: { readonly effect: string, readonly purpose: PlanPurpose } | undefined
  /** The change that is being shown or made, and whether a person is asked to approve it; `undefined` before the first one. */
  readonly change: { readonly wish: JsonObject, readonly isAsked: boolean } | undefined
  readonly check: number
  /** The message about the last failed check, which the user gets when the change is taken back or kept; `undefined` while no check has failed. */
  readonly checkFailed: string | undefined
  readonly applied: readonly ChangedPath[]
  readonly undone: readonly ChangedPath[]
  /** The paths that the last undo or redo did not touch, since somebody else has changed them. */
  readonly conflicts: readonly Conflict[]
  readonly summary: string
  /** The summary of the change that was applied, which is the default message of its commit. */
  readonly done: string
  /** The hash of the commit of the change, if there is one. */
  readonly commit: string | undefined
  readonly error: PlanProblem | undefined
}
