import { type Language } from './language.ts'

/** What users and models are told of an answer that a limit or a filter has ended, and of one that the model refuses. */
const TEXTS: Readonly<Record<Language, { readonly cut: (reason: string) => string, readonly refused: (words: string) => string }>> = {
  en: { cut: reason => `…[the answer was cut: ${reason}]`, refused: words => `The model refuses: ${words}` },
  ru: { cut: reason => `…[ответ оборван: ${reason}]`, refused: words => `Модель отказывается: ${words}` }
}

/** The mark behind a text that was cut. @param reason the `finish_reason` of the answer */
export function cutMark (language: Language, reason = 'length'): string {
  return TEXTS[language].cut(reason)
}

/** A refusal of the model, as the user reads it. */
export function refusedText (language: Language, words: string): string {
  return TEXTS[language].refused(words)
}

/** What a model is told whose answer was cut: nothing of such an answer is carried out, since it may lack what matters most. */
export function cutProblem (reason = 'length'): string {
  return `it was cut (${reason}) and nothing of it was done; answer with less: fewer words, fewer calls at a time, shorter arguments`
}
