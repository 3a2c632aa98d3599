import { type Language } from './language.ts'

/**
 * Why a skill asks its user about a command. `isInterrupted`: the command began, and nobody knows how it ended. `isBusy`: it was not run,
 * because the terminal's input line was not empty for too long.
 */
export type WhyAsked = 'isInterrupted' | 'isBusy'

/** The question of a skill about a command. */
export const ABOUT_COMMAND: Readonly<Record<WhyAsked, Readonly<Record<Language, (command: string) => string>>>> = {
  isInterrupted: {
    en: command =>
      `The command "${command}" was interrupted. Nobody knows whether it was done. Answer "again" to run it again, "skip" to do without it, or with what it printed.`,
    ru: command =>
      `Команда "${command}" прервана. Неизвестно, выполнена ли она. Ответьте "снова", чтобы выполнить её ещё раз, "пропустить", чтобы обойтись без неё, или напишите, что она вывела.`
  },
  isBusy: {
    en: command =>
      `The command "${command}" was not run: the terminal was busy for too long. Answer "again" to try again, "without" to run it and all further ones without the terminal, "skip" to leave it out, or tell the model what to do instead.`,
    ru: command =>
      `Команда "${command}" не выполнена: терминал слишком долго был занят. Ответьте "снова", чтобы попробовать ещё раз, "без терминала", чтобы выполнять её и следующие без терминала, "пропустить", чтобы обойтись без неё, или напишите модели, что делать вместо неё.`
  }
}
