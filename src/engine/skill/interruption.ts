import { type Language } from '../texts/language.ts'
import { ABOUT_COMMAND, type WhyAsked } from '../texts/skill-texts.ts'

/** The question of the service itself about a command that was interrupted, or whose terminal was busy. Clients show it as one of the model's. */
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
  /** Whether the model did not mark the text as a command, so that it never runs without consent. */
  readonly fallback?: true
}

/** What a user may answer about such a command; anything else is what it printed, or for the model. */
export type Verdict = 'again' | 'skip' | 'without'

/** The question about a command. @param isFallback whether the model did not say that it is one */
export function askAbout (command: string, why: WhyAsked, isFallback: boolean, language: Language): Interruption {
  const question = ABOUT_COMMAND[why][language](command)
  const asked = { type: 'ASK', content: `[ASK] ${question}`, question, required: true, command } as const
  return { ...asked, ...(why === 'isBusy' ? { isBusy: true } : { isInterrupted: true }), ...(isFallback ? { fallback: true } : {}) }
}

/** The words for each verdict, in all languages. */
const VERDICTS: ReadonlyMap<string, Verdict> = new Map([
  ['again', 'again'], ['снова', 'again'],
  ['skip', 'skip'], ['пропустить', 'skip'],
  ['without', 'without'], ['без терминала', 'without']
])

/** Reads a user's answer about a command; `undefined` for words that are no verdict. Only a command whose terminal was busy may do without it. */
export function verdictOf (answer: string, why: WhyAsked): Verdict | undefined {
  const verdict = VERDICTS.get(answer.trim().toLowerCase().replace(/^skill:/, ''))
  return verdict === 'without' && why !== 'isBusy' ? undefined : verdict
}
