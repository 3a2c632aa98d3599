import { type JsonObject } from '../../base/json.ts'
import { MAX_ACTIONS, MAX_CONTENT_BYTES, MAX_TOTAL_BYTES } from '../../files/limits.ts'
import { type Whitelist } from '../../files/path-rules.ts'
import { type PlanCommit, type PlanConfirm, type PlanLimit, type PlanRepair } from '../../registry/kinds/plan/plan-kind.ts'
import { type Language } from '../texts/language.ts'

/** Everything of the service's configuration and a profile that plans depend on, as it was when the session started. */
export interface PlanSetting {
  /** The id of the plan's log lines and of its trace. */
  readonly traceId: string
  readonly workspace: string
  /** The instructions of the profile for the model; empty without a profile. */
  readonly prompt: string
  /** Names of checks of the workspace, run in this order after a change. */
  readonly checks: readonly string[]
  /** The name of the model; empty for the service's default. */
  readonly model: string
  readonly temperature: number
  readonly maxTokens: number
  /** How long the model is waited for, in ms. */
  readonly timeout: number
  /** Whether requests tell the model's API to enforce the schema of answers. */
  readonly isStrict: boolean
  readonly schema: JsonObject
  readonly schemaVersion: number
  /** The SHA-256 of the schema's file. It is shown with a plan's trace, so that one can see by which schema the answers were judged. */
  readonly schemaHash: string
  readonly eol: 'keep' | 'lf'
  readonly language: Language
  readonly confirm: PlanConfirm
  readonly repair: PlanRepair
  /** When a change is committed; `never` also where the operator allows no commits. */
  readonly commit: PlanCommit
  /** Whether the preferences in the model's memory patches are stored without asking the user. */
  readonly remembers: boolean
  readonly limits: PlanLimits
  readonly whitelist: Whitelist
}

/** The limits of a plan and of its context, by name. */
export type PlanLimits = Readonly<Record<PlanLimit, number>>

/** The limits of the protocol; lengths of texts in UTF-16 units. A profile makes them tighter. */
export const DEFAULT_LIMITS: PlanLimits = {
  max_actions: MAX_ACTIONS,
  max_file_bytes: MAX_CONTENT_BYTES,
  max_total_content_bytes: MAX_TOTAL_BYTES,
  max_context_rounds: 2,
  context_max_files: 8,
  context_max_file_chars: 20_000,
  context_max_total_chars: 120_000,
  context_max_log_chars: 12_000
}
