import type { Command } from 'commander'
import { pluralOf } from '../base/text.ts'
import { type Cli, type GivenParameters, readParameters, withParameters } from './context.ts'
import type { CliKind } from './entries.ts'
import type { Output } from './output.ts'
import type { SyncOptions } from './sync.ts'

export function addApplyCommand (group: Command, kind: CliKind, cli: Cli): void {
  group.command('apply').description(`publish the ${pluralOf(kind.noun)} of a file or a folder`)
    .requiredOption('-f, --file <path>', `a file, or a folder ${kind.key}/ or with one`)
    .option('-i, --id <id>', 'for a file whose path does not say it')
    .action(async (options: { readonly file: string, readonly id?: string }, command: Command) => {
      const { applyEntries } = await import('./folder.ts')
      await applyEntries(kind, options.file, options.id, cli.open(command))
    })
}

export function addSyncCommands (program: Command, cli: Cli): void {
  program.command('diff').description('show what differs between a folder and a service, as push would change it').argument('[folder]', 'the folder', '.')
    .action(async (folder: string, _options: object, command: Command) => {
      const { diffFolder } = await import('./sync.ts')
      await diffFolder(folder, cli.open(command))
    })

  withSyncOptions(program.command('push').description('make a service have what a folder has; nothing that somebody has edited there is overwritten'))
    .option('--note <text>', 'what has changed, kept with the versions of prompts')
    .option('--label <label>', 'once all is stored, let this label mean what the folder has, for each prompt of it')
    .action(async (folder: string, options: SyncOptions, command: Command) => {
      const { pushFolder } = await import('./sync.ts')
      await pushFolder(folder, options, cli.open(command), cli)
    })

  withSyncOptions(program.command('pull').description('make a folder have what a service has; files whose content is the same stay as they are'))
    .action(async (folder: string, options: SyncOptions, command: Command) => {
      const { pullFolder } = await import('./sync.ts')
      await pullFolder(folder, options, cli.open(command), cli)
    })
}

function withSyncOptions (command: Command): Command {
  return command.argument('[folder]', 'the folder', '.')
    .option('--dry-run', 'show what would change, and end with 1 if something would')
    .option('--prune', 'remove what the other side does not have, within its modules')
    .option('--overwrite', 'undo edits of the other side, too')
    .option('-y, --yes', 'ask nobody')
}

interface DevOptions extends GivenParameters { readonly prompt?: string }

export function addDevCommand (program: Command, cli: Cli): void {
  const dev = program.command('dev')
    .description('serve a folder, and render a prompt again whenever something is saved; the key c opens the console')
    .argument('[folder]', 'the folder', '.')
  withParameters(dev)
    .option('--prompt <id>', 'the prompt')
    .action(async (folder: string, options: DevOptions, command: Command) => {
      const { output } = cli.open(command)
      const { renderChanges, wholeFileName } = await import('./dev.ts')
      const args = wholeFileName(options.args)
      const url = await serveHere(folder, output)
      if (url === undefined) return
      if (cli.environment['CONSOLE'] !== 'off') {
        const { listenToKeys } = await import('./dev-keys.ts')
        await listenToKeys(cli.stdin, `${url}/console/prompts${options.prompt === undefined ? '' : `/${encodeURIComponent(options.prompt)}`}`, output)
      }
      const { prompt, param } = options
      const variables = () => readParameters({ param, args }, cli.stdin, cli.signal)
      await renderChanges(url, prompt === undefined ? undefined : { prompt, variables }, output, cli)
    })
}

export function addServeCommand (program: Command, cli: Cli): void {
  program.command('serve').description('serve a folder of prompts; a file .env in it configures the service')
    .argument('[folder]', 'the folder', '.')
    .action(async (folder: string, _options: object, command: Command) => {
      await serveHere(folder, cli.open(command).output)
    })
}

/** In a child process if Node needs other flags for its memory. @returns `undefined` if it did not become ready */
async function serveHere (folder: string, output: Output): Promise<string | undefined> {
  const { memoryFlags } = await import('../workers/memory-flags.ts')
  const flags = memoryFlags()
  if (flags.length > 0) return await (await import('./serve-in-child.ts')).serveInChild(flags)
  const { serveFolder } = await import('./serve-folder.ts')
  return await serveFolder(folder, output)
}
