import { isConsent } from '../texts/consent.ts'

export type PlanMode = 'plan' | 'apply'

/** What words ask for. */
export interface Routed {
  /** `undefined` when they leave it open. */
  readonly mode: PlanMode | undefined
  /** The words without their prefix; empty for a consent. */
  readonly goal: string
  /** Whether a prefix says so. */
  readonly isExplicit: boolean
  /** Whether they do no more than agree with the plan that is there. */
  readonly isConsent: boolean
}

const PREFIX = /^\s*(plan|apply)\s*:\s*/i

/** Stems of words; letters may follow, none precede. The first list is looked at first: to look is safer than to write. */
const HINTS: ReadonlyArray<readonly [PlanMode, RegExp]> = [
  ['plan', /(?<!\p{L})(?:исправ|почин|fix(?!\p{L})|repair(?!\p{L}))/iu],
  ['apply', /(?<!\p{L})(?:созда[йт]|сгенерируй|create(?!\p{L})|generate(?!\p{L}))/iu]
]

/**
 * Tells from words which mode they want: a prefix, a consent, or what they speak of. A consent is the whole of what is
 * said: «да, но…» is none.
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
