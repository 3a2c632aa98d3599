import { isConsent } from '../texts/consent.ts'

export type PlanMode = 'plan' | 'apply'

/** The mode (`plan` only proposes changes, `apply` makes them) and the goal that a user's words ask for. */
export interface Routed {
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
