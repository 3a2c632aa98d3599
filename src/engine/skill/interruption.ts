import { type Language } from '../texts/language.ts'
import { ABOUT_COMMAND, type WhyAsked } from '../texts/skill-texts.ts'

/** The service's own question to the user about a command that was interrupted, or whose terminal was busy. Clients show it like a question of the model. */
export interface Interruption {
  readonly type: 'ASK'
  readonly content: string
  readonly question: string
  readonly required: true
  /** The command that was interrupted, or not run. */
  readonly command: string
  /** Whether the command began, and nobody knows how it ended. */
  readonly isInterrupted?: true
  /** Whether the command was not run, since its terminal was busy. */
  readonly isBusy?: true
  /** Whether the model did not mark its text as a command. Such a command never runs without a person's consent. */
  readonly fallback?: true
}

/**
 * A user's decision about a command that was interrupted, or whose terminal was busy. Every other answer is a text for the model: what the
 * interrupted command printed, or what to do instead of the command that was not run.
 */
export type Verdict = 'again' | 'skip' | 'without'

/** The question to the user about a command. @param isFallback whether the model did not mark its text as a command */
export function askAbout (command: string, why: WhyAsked, isFallback: boolean, language: Language): Interruption {
  const question = ABOUT_COMMAND[why][language](command)
  const asked = { type: 'ASK', content: `[ASK] ${question}`, question, required: true, command } as const
  return { ...asked, ...(why === 'isBusy' ? { isBusy: true } : { isInterrupted: true }), ...(isFallback ? { fallback: true } : {}) }
}

/** The words by which a user gives a `Verdict`, in all languages. */
const VERDICTS: ReadonlyMap<string, Verdict> = new Map([
  ['again', 'again'], ['снова', 'again'],
  ['skip', 'skip'], ['пропустить', 'skip'],
  ['without', 'without'], ['без терминала', 'without']
])

/**
 * Reads a user's answer to the question about a command; `undefined` for other words. The verdict `without` (to run the command without the
 * terminal) is possible only when the terminal was busy.
 */
export function verdictOf (answer: string, why: WhyAsked): Verdict | undefined {
  const verdict = VERDICTS.get(answer.trim().toLowerCase().replace(/^skill:/, ''))
  return verdict === 'without' && why !== 'isBusy' ? undefined : verdict
}
