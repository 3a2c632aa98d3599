import { type Language } from '../texts/language.ts'
import { INTERRUPTED } from '../texts/skill-texts.ts'

/**
 * The service's own question to the user about an interrupted command: it began, and nobody knows how it ended. It has the form of a
 * model's question, so that clients need nothing new to show it.
 */
export interface Interruption {
  readonly type: 'ASK'
  readonly content: string
  readonly question: string
  readonly required: true
  /** The command that was interrupted. */
  readonly command: string
  readonly isInterrupted: true
  /** Whether the model did not mark the text as a command. Such a text never runs without a person's approval. */
  readonly fallback?: true
}

/** The user's verdict on an interrupted command: run it `again`, or `skip` it. Any other answer is taken as what the command printed. */
export type Verdict = 'again' | 'skip'

/**
 * Makes the question to the user about an interrupted command, of which nobody knows how it ended.
 * @param isFallback whether the model did not mark the text as a command
 */
export function askAbout (command: string, isFallback: boolean, language: Language): Interruption {
  const question = INTERRUPTED[language](command)
  return { type: 'ASK', content: `[ASK] ${question}`, question, required: true, command, isInterrupted: true, ...(isFallback ? { fallback: true } : {}) }
}

/** The words by which a user says what to do with an interrupted command, in all languages. */
const VERDICTS: ReadonlyMap<string, Verdict> = new Map([['again', 'again'], ['снова', 'again'], ['skip', 'skip'], ['пропустить', 'skip']])

/** Reads the user's answer about an interrupted command. @returns `undefined` for any other text, which then counts as what the command printed */
export function verdictOf (answer: string): Verdict | undefined {
  return VERDICTS.get(answer.trim().toLowerCase().replace(/^skill:/, ''))
}
