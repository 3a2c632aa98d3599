import { type CommandName, type CommandWords } from '../texts/command-words.ts'

/** A command of a user to the dialogue itself, such as `exit` or `help`; `nothing` for an empty line. */
export type Command = CommandName | 'nothing'

/**
 * The command that a line of the user consists of, in any case of letters; `undefined` for a message to the agent. The whole line has to
 * be the command's word, so a question that contains the word is a message.
 */
export function commandIn (line: string, words: CommandWords): Command | undefined {
  const said = line.trim().toLowerCase()
  if (said === '') return 'nothing'
  const names: readonly CommandName[] = ['exit', 'help', 'clear', 'retry']
  return names.find(name => words[name].some(word => word.trim().toLowerCase() === said))
}
