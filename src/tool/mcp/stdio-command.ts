/** A command that the operator lets MCP servers be started with. */
export interface StdioCommand {
  readonly command: string
  readonly arguments: readonly string[]
}

/**
 * Reads `MCP_STDIO_COMMANDS`: `name=command argument …` entries, separated by `;`. A word in double quotes may hold blanks.
 * Registrations choose one by its name; they can neither change nor extend it.
 * @throws Error that names the entry
 */
export function parseStdioCommands (text: string): ReadonlyMap<string, StdioCommand> {
  const entries = text.split(';').map(entry => entry.trim()).filter(entry => entry !== '')
  return new Map(entries.map(entry => {
    const [, name, line] = /^([\w-]+)=(.+)$/s.exec(entry) ?? []
    const [command, ...rest] = Array.from(line?.matchAll(/"([^"]*)"|(\S+)/g) ?? [], match => match[1] ?? match[2] as string)
    if (name === undefined || command === undefined) throw new Error(`MCP_STDIO_COMMANDS: "${entry}" must be name=command arguments`)
    return [name, { command, arguments: rest }]
  }))
}
