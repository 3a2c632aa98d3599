import { type Language } from '../texts/language.ts'
import { INTERRUPTED } from '../texts/skill-texts.ts'

/** The question of the service itself about a command that began, and of which nobody knows how it ended. Clients show it as one of the model's. */
export interface Interruption {
  readonly type: 'ASK'
  readonly content: string
  readonly question: string
  readonly required: true
  /** The command that was interrupted. */
  readonly command: string
  readonly isInterrupted: true
  /** Whether the model did not mark the text as a command, so that it never runs without consent. */
  readonly fallback?: true
}

/** What a user may answer about a command that was interrupted; anything else is what it printed. */
export type Verdict = 'again' | 'skip'

/** The question about a command that began, and of which nobody knows how it ended. @param isFallback whether the model did not say that it is one */
export function askAbout (command: string, isFallback: boolean, language: Language): Interruption {
  const question = INTERRUPTED[language](command)
  return { type: 'ASK', content: `[ASK] ${question}`, question, required: true, command, isInterrupted: true, ...(isFallback ? { fallback: true } : {}) }
}

/** The words for each verdict, in all languages. */
const VERDICTS: ReadonlyMap<string, Verdict> = new Map([['again', 'again'], ['снова', 'again'], ['skip', 'skip'], ['пропустить', 'skip']])

/** Reads a user's answer about an interrupted command; `undefined` for an answer that says what the command printed. */
export function verdictOf (answer: string): Verdict | undefined {
  return VERDICTS.get(answer.trim().toLowerCase().replace(/^skill:/, ''))
}
