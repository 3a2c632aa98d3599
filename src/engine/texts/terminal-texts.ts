import { type Language } from './language.ts'

/** The name of a text about commands in a terminal that a skill shows its user. */
export type TerminalText = 'terminalBusy' | 'terminalGone'

export const TERMINAL_TEXTS: Readonly<Record<Language, Readonly<Record<TerminalText, string>>>> = {
  en: {
    terminalBusy: 'The command waits until your line in the terminal is empty.',
    terminalGone: 'The terminal is gone; commands run without it.'
  },
  ru: {
    terminalBusy: 'Команда ждёт, пока ваша строка в терминале не опустеет.',
    terminalGone: 'Терминал закрыт; команды выполняются без него.'
  }
}
