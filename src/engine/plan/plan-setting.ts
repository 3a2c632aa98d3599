import type { JsonObject } from '../../base/json.ts'
import { CHANGE_LIMITS } from '../../files/change/change-rules.ts'
import type { Whitelist } from '../../files/path-rules.ts'
import type { PlanCommit, PlanConfirm, PlanLimit, PlanRepair } from '../../registry/kinds/plan-kind.ts'
import { isConsent, type Locale } from '../texts.ts'

/** As they were when the session started. */
export interface PlanSetting {
  readonly traceId: string
  readonly workspace: string
  readonly prompt: string
  /** They run in this order after a change. */
  readonly checks: readonly string[]
  readonly model: string
  readonly temperature: number
  readonly maxTokens: number
  /** Per answer of the model, in ms. */
  readonly timeout: number
  readonly isStrict: boolean
  readonly schema: JsonObject
  readonly schemaVersion: number
  /** SHA-256, in the result, so that a reader can see by which schema the answers were judged. */
  readonly schemaHash: string
  readonly eol: 'keep' | 'lf'
  readonly language: Locale
  readonly confirm: PlanConfirm
  readonly repair: PlanRepair
  /** `never`, too, where the operator allows no commits. */
  readonly commit: PlanCommit
  readonly remembers: boolean
  readonly limits: PlanLimits
  readonly whitelist: Whitelist
  /** Left out in sessions of earlier versions, whose logs must be read by the rules by which they were written. */
  readonly keepsUndo?: true
}

export type PlanLimits = Readonly<Record<PlanLimit, number>>

/** A profile can only make them tighter. Names with `chars` count UTF-16 units. */
export const DEFAULT_LIMITS: PlanLimits = {
  ...CHANGE_LIMITS,
  max_context_rounds: 2,
  context_max_files: 8,
  context_max_file_chars: 20_000,
  context_max_total_chars: 120_000,
  context_max_log_chars: 12_000
}

export type PlanMode = 'plan' | 'apply'

const PREFIX = /^\s*(plan|apply)\s*:\s*/i

/** A Russian stem can have further letters; an English word stands alone. PLAN comes first, since it changes no files. */
const HINTS: ReadonlyArray<readonly [PlanMode, RegExp]> = [
  ['plan', /(?<!\p{L})(?:исправ|почин|fix(?!\p{L})|repair(?!\p{L}))/iu],
  ['apply', /(?<!\p{L})(?:созда[йт]|сгенерируй|create(?!\p{L})|generate(?!\p{L}))/iu]
]

/** Words that say more than yes, such as "yes, but …", are no agreement. `goal` is without the prefix; empty for mere consent. */
export function routeMode (words: string, hasPlan: boolean): {
  readonly mode: PlanMode | undefined
  readonly goal: string
  readonly isExplicit: boolean
  readonly isConsent: boolean
} {
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
