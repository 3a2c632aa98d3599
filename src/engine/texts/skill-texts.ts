import { type Language } from './language.ts'

/** The question that a skill asks its user about an interrupted command: it began, and nobody knows how it ended. */
export const INTERRUPTED: Readonly<Record<Language, (command: string) => string>> = {
  en: command =>
    `The command "${command}" was interrupted. Nobody knows whether it was done. Answer "again" to run it again, "skip" to do without it, or with what it printed.`,
  ru: command =>
    `Команда "${command}" прервана. Неизвестно, выполнена ли она. Ответьте "снова", чтобы выполнить её ещё раз, "пропустить", чтобы обойтись без неё, или напишите, что она вывела.`
}
