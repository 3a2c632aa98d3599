import { type JsonObject } from '../../base/json.ts'
import { type Conflict } from '../../files/change/conflict.ts'
import { type ContextBlock } from './context-blocks.ts'
import { type AutoRequest } from './auto-context.ts'
import { type Memory } from './memory.ts'
import { type PlanProblem, type PlanReply } from './parse-plan.ts'
import { type PlanSetting } from './plan-setting.ts'
import { type PlanMode } from './route-mode.ts'

/** How far a plan is, in the words of the protocol. */
export type PlanStep = 'draft' | 'planning' | 'planned' | 'applying' | 'awaiting_confirmation' | 'applied' | 'undone' | 'no_changes' | 'rejected' | 'failed'

/** What is waited for. */
export type PlanPurpose = 'context' | 'model' | 'remember' | 'accept' | 'preview' | 'apply' | 'check' | 'rollback' | 'undo' | 'redo' | 'commit'

/** Something that was read in this cycle, so that it is not read again. */
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

/** What a model is to read, as it was sent last. */
export interface ContextStats {
  readonly files: number
  readonly dropped: number
  readonly truncated: number
  readonly totalChars: number
  readonly logsChars: number
}

/** Hits and misses of the cycle's cache, by the type of the request. */
export type CacheStats = Readonly<Record<'env' | 'logs' | 'read' | 'search', { readonly hits: number, readonly misses: number }>>

/** A plan: it is made in PLAN, carried out in APPLY, and undone when it is wanted. */
export interface PlanState {
  readonly setting: PlanSetting
  /** Of a plan that another session has started: whether it is over. Nobody says a further goal there. */
  readonly child?: 'goes-on' | 'over'
  readonly step: PlanStep
  readonly mode: PlanMode
  /** Whether the words or the request chose the mode; if not, what is remembered of the user does. */
  readonly isRouted: boolean
  /** Whether this began in APPLY, with no plan before it: then no file has been shown to the model yet. */
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
  /** The files that the model has been shown, by path, as they are on disk: no other file is updated. */
  readonly bases: Readonly<Record<string, string>>
  readonly rounds: number
  /** The answer that was not taken, while it is being repaired; schema 1 has one repair in all. */
  readonly repair: { readonly reply: string, readonly problem: PlanProblem } | undefined
  readonly hasRepaired: boolean
  /** Rounds in which the model has mended what it had done, since its user spoke last. */
  readonly used: number
  /** What the last failed check said, for the model; empty once it has passed, or its user wants something else. */
  readonly failedCheck: string
  /** Where the user was waited for last: a session goes on from here. */
  readonly rest: 'draft' | 'planned' | 'applied' | 'undone'
  /** A change that waits for its user's consent, exactly as it was shown. */
  readonly held: { readonly digest: string, readonly change: JsonObject, readonly paths: readonly string[] } | undefined
  /** Paths of the diffs that were agreed to for this goal: a round may write these. */
  readonly agreed: readonly string[]
  /** The effects of the changes for this goal, the oldest first. One undo takes back all of them. */
  readonly changes: readonly string[]
  /** How many changes of the goal are taken back. */
  readonly reversed: number
  /** What is still to be taken back or done again of them. */
  readonly turning: { readonly left: readonly JsonObject[], readonly conflicts: readonly Conflict[] } | undefined
  /** Whether a change for the goal is there already; the first one replaces what was applied for the goal before. */
  readonly hasApplied: boolean
  /** Hash of the actions that were carried out last. */
  readonly lastActions: string
  /** A check that runs before anything is asked: its failure is the report of the goal. */
  readonly fix: string | undefined
  /** Of the files in `bases`, those that the model has been shown in full. */
  readonly whole: readonly string[]
  /** Whether the model's API knows no schema of answers, and has to be asked without one. */
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
  /** What was said of the change that is there; the message of its commit. */
  readonly done: string
  /** The hash of the commit of the change, if there is one. */
  readonly commit: string | undefined
  readonly error: PlanProblem | undefined
}
