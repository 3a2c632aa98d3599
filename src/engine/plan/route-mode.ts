import { isConsent } from '../texts/consent.ts'

export type PlanMode = 'plan' | 'apply'

/** The mode and the goal that a user's words ask for. */
export interface Routed {
  /** The mode; `undefined` when the words ask for no particular one. */
  readonly mode: PlanMode | undefined
  /** The words without their prefix; empty for a consent. */
  readonly goal: string
  /** Whether the words begin with `plan:` or `apply:`. */
  readonly isExplicit: boolean
  /** Whether the words do no more than agree with the present plan. */
  readonly isConsent: boolean
}

const PREFIX = /^\s*(plan|apply)\s*:\s*/i

/** Word stems that hint at a mode; letters may follow a stem, none precede it. PLAN is tried first: to read files is safer than to write them. */
const HINTS: ReadonlyArray<readonly [PlanMode, RegExp]> = [
  ['plan', /(?<!\p{L})(?:исправ|почин|fix(?!\p{L})|repair(?!\p{L}))/iu],
  ['apply', /(?<!\p{L})(?:созда[йт]|сгенерируй|create(?!\p{L})|generate(?!\p{L}))/iu]
]

/**
 * Decides from a user's words which mode they ask for: by a prefix, by a consent, or by a hint such as "fix" or "create". A consent says
 * nothing else: «да, но…» is none.
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
