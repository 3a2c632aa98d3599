import { type Language } from './language.ts'

/** The name of a command by which a user controls the dialogue with an agent. */
export type CommandName = 'exit' | 'help' | 'clear' | 'retry'

/** The words for each command of a user; a command is a whole line. An agent's definition can replace these words. */
export type CommandWords = Readonly<Record<CommandName, readonly string[]>>

const EVERYWHERE: CommandWords = { exit: ['/exit', '/quit', '/q', 'exit', 'quit', 'q'], help: ['/help', 'help', '?'], clear: ['/clear'], retry: ['/retry'] }

export const COMMAND_WORDS: Readonly<Record<Language, CommandWords>> = {
  en: EVERYWHERE,
  ru: { ...EVERYWHERE, exit: [...EVERYWHERE.exit, 'выход'], help: [...EVERYWHERE.help, 'справка'] }
}
