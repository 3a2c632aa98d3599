import { type Language } from './language.ts'

/** What a user may ask of a dialogue itself. */
export type CommandName = 'exit' | 'help' | 'clear' | 'retry'

/** What a user writes for it, as the whole line; a definition may have other words. */
export type CommandWords = Readonly<Record<CommandName, readonly string[]>>

const EVERYWHERE: CommandWords = { exit: ['/exit', '/quit', '/q', 'exit', 'quit', 'q'], help: ['/help', 'help', '?'], clear: ['/clear'], retry: ['/retry'] }

export const COMMAND_WORDS: Readonly<Record<Language, CommandWords>> = {
  en: EVERYWHERE,
  ru: { ...EVERYWHERE, exit: [...EVERYWHERE.exit, 'выход'], help: [...EVERYWHERE.help, 'справка'] }
}
