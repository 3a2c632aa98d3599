import { type CommandName, type CommandWords } from '../texts/command-words.ts'

/** What a user asks of the dialogue itself; `nothing` for an empty line. */
export type Command = CommandName | 'nothing'

/** The command that a line is as a whole, whatever its case; `undefined` for what is meant for the agent: a question that has such a word in it is none. */
export function commandIn (line: string, words: CommandWords): Command | undefined {
  const said = line.trim().toLowerCase()
  if (said === '') return 'nothing'
  const names: readonly CommandName[] = ['exit', 'help', 'clear', 'retry']
  return names.find(name => words[name].some(word => word.trim().toLowerCase() === said))
}
