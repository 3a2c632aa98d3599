import { type AgentSetting } from '../../registry/kinds/agent/agent-setting.ts'

/** What a user asks of the dialogue itself; `nothing` for an empty line. */
export type Command = 'exit' | 'help' | 'clear' | 'nothing'

/** The command that a line is as a whole, whatever its case; `undefined` for what is meant for the agent (X3). */
export function commandIn (line: string, { exit, help, clear }: AgentSetting['commands']): Command | undefined {
  const said = line.trim().toLowerCase()
  if (said === '') return 'nothing'
  const is = (words: readonly string[]): boolean => words.some(word => word.trim().toLowerCase() === said)
  return is(exit) ? 'exit' : is(help) ? 'help' : is(clear) ? 'clear' : undefined
}
