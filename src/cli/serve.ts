import { type Command } from 'commander'
import { type Cli } from './cli.ts'
import { type Output } from './output.ts'

/** Adds `aps serve [folder]`, which runs a service over the folder. */
export function addServeCommand (program: Command, cli: Cli): void {
  program.command('serve').description('serve a folder of prompts; a file .env in it configures the service')
    .argument('[folder]', 'the folder', '.')
    .action(async (folder: string, _options: object, command: Command) => {
      await serveHere(folder, cli.open(command).output)
    })
}

/**
 * Serves a folder in this process, or in a child process if Node needs other flags for its memory. @returns the address once the service is
 * ready; `undefined` if it did not become ready
 */
export async function serveHere (folder: string, output: Output): Promise<string | undefined> {
  const { memoryFlags } = await import('../workers/memory-flags.ts')
  const flags = memoryFlags()
  if (flags.length > 0) return await (await import('./serve-in-child.ts')).serveInChild(flags)
  const { serveFolder } = await import('./serve-folder.ts')
  return await serveFolder(folder, output)
}
