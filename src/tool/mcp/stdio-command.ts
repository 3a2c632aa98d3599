/** A command by which the operator allows MCP servers to be started. */
export interface StdioCommand {
  readonly command: string
  readonly arguments: readonly string[]
}

/**
 * Reads the variable `MCP_STDIO_COMMANDS`: entries `name=command argument …`, separated by `;`. A word in double quotes can have blanks.
 * Registrations choose a command by its name, and can neither change nor extend it.
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
