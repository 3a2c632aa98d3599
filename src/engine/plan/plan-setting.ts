import type { JsonObject } from '../../base/json.ts'
import { MAX_ACTIONS, MAX_CONTENT_BYTES, MAX_TOTAL_BYTES } from '../../files/change/change-rules.ts'
import type { Whitelist } from '../../files/path-rules.ts'
import type { PlanCommit, PlanConfirm, PlanLimit, PlanRepair } from '../../registry/kinds/plan-kind.ts'
import { isConsent, type Locale } from '../texts.ts'

/**
 * The settings of one plan, as they were when its session started. They come from the service's configuration and from the plan profile (the
 * operator's settings of plans).
 */
export interface PlanSetting {
  /** The id that the plan's log lines have in common. */
  readonly traceId: string
  readonly workspace: string
  /** The operator's instructions for the model, from the plan profile; empty when there is no profile. */
  readonly prompt: string
  /** The names of the checks (commands that the operator has set up for the workspace) that run after a change, in this order. */
  readonly checks: readonly string[]
  /** The name of the model; empty for the service's default. */
  readonly model: string
  readonly temperature: number
  readonly maxTokens: number
  /** The longest time that the plan waits for one answer of the model, in ms. */
  readonly timeout: number
  /** Whether requests tell the model's API to enforce the schema of answers. */
  readonly isStrict: boolean
  readonly schema: JsonObject
  readonly schemaVersion: number
  /** The SHA-256 of the schema's file. The plan's result has it, so that a reader can see by which schema the answers were judged. */
  readonly schemaHash: string
  readonly eol: 'keep' | 'lf'
  readonly language: Locale
  readonly confirm: PlanConfirm
  readonly repair: PlanRepair
  /** When a change is committed to git. It is `never`, too, where the operator allows no commits. */
  readonly commit: PlanCommit
  /** Whether preferences that the model wants remembered are stored without asking the user. */
  readonly remembers: boolean
  readonly limits: PlanLimits
  readonly whitelist: Whitelist
  /**
   * Whether the change of a goal can be undone, in words too, until the next goal has changed something. Left out in sessions of earlier versions:
   * their logs must be read by the rules by which they were written.
   */
  readonly keepsUndo?: true
}

/** The limits of a plan and of its context, by name. */
export type PlanLimits = Readonly<Record<PlanLimit, number>>

/** The limits of plans without a plan profile (settings of the operator). A profile can only make them tighter. Names with `chars` count UTF-16 units. */
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

export type PlanMode = 'plan' | 'apply'

/** The mode (`plan` only proposes changes, `apply` makes them) and the goal that a user's words ask for. */
interface Routed {
  /** The mode; `undefined` when the words ask for no particular one. */
  readonly mode: PlanMode | undefined
  /** The user's words without the prefix; empty when the user only agrees with the plan. */
  readonly goal: string
  /** Whether the words begin with `plan:` or `apply:`. */
  readonly isExplicit: boolean
  /** Whether the words do no more than agree with the present plan. */
  readonly isConsent: boolean
}

const PREFIX = /^\s*(plan|apply)\s*:\s*/i

/**
 * Words that hint at a mode. A Russian stem can have further letters behind it; an English word stands alone. PLAN is tried first, since it
 * changes no files.
 */
const HINTS: ReadonlyArray<readonly [PlanMode, RegExp]> = [
  ['plan', /(?<!\p{L})(?:исправ|почин|fix(?!\p{L})|repair(?!\p{L}))/iu],
  ['apply', /(?<!\p{L})(?:созда[йт]|сгенерируй|create(?!\p{L})|generate(?!\p{L}))/iu]
]

/**
 * Decides from a user's words which mode they ask for: by a prefix, by agreement with the plan, or by a hint such as "fix" or "create".
 * Words that say more than yes, such as "yes, but …", are no agreement.
 * @param hasPlan whether there is a plan that the words can agree with
 */
export function routeMode (words: string, hasPlan: boolean): Routed {
  const prefix = PREFIX.exec(words)
  if (prefix !== null) {
    const goal = words.slice(prefix[0].length).trim()
    const mode = prefix[1]?.toLowerCase() === 'apply' ? 'apply' : 'plan'
    return { mode, goal, isExplicit: true, isConsent: hasPlan && mode === 'apply' && goal === '' }
  }
  const goal = words.trim()
  if (hasPlan && isConsent(goal)) return { mode: 'apply', goal: '', isExplicit: false, isConsent: true }
  return { mode: HINTS.find(([, hint]) => hint.test(goal))?.[0], goal, isExplicit: false, isConsent: false }
}
