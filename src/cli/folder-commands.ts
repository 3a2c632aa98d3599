import { type Command, Option } from 'commander'
import { pluralOf } from '../base/text.ts'
import { type Cli, withParameters } from './context.ts'
import type { CliKind } from './entries.ts'
import type { LintFormat } from './lint.ts'
import type { DevOptions } from './serve.ts'
import type { SyncOptions } from './sync.ts'
import type { TestOptions } from './test.ts'

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

export function addDevCommand (program: Command, cli: Cli): void {
  const dev = program.command('dev')
    .description('serve a folder, and render a prompt again whenever something is saved; the key c opens the console')
    .argument('[folder]', 'the folder', '.')
  withParameters(dev)
    .option('--prompt <id>', 'the prompt')
    .action(async (folder: string, options: DevOptions, command: Command) => {
      const { develop } = await import('./serve.ts')
      await develop(folder, options, cli.open(command).output, cli)
    })
}

export function addServeCommand (program: Command, cli: Cli): void {
  program.command('serve').description('serve a folder of prompts; a file .env in it configures the service')
    .argument('[folder]', 'the folder', '.')
    .action(async (folder: string, _options: object, command: Command) => {
      const { serveHere } = await import('./serve.ts')
      await serveHere(folder, cli.open(command).output)
    })
}

const TRUST = ['--trust', 'take all of the folder\'s .env, also what runs commands or says where keys are sent'] as const

export function addLintCommand (program: Command, cli: Cli): void {
  program.command('lint').description('check the files of a folder as the service does; ends with 1 for an error').argument('[folder]', 'the folder', '.')
    .option('--server', 'with what is registered at a service, in place of the folder alone')
    .option(...TRUST)
    .addOption(new Option('--format <format>', 'github: annotations of a workflow').choices(['text', 'json', 'github']).default('text'))
    .action(async (folder: string, { server, trust, format }: Omit<TestOptions, 'format'> & { readonly format: LintFormat }, command: Command) => {
      const opened = cli.open(command)
      const { lintFolder } = await import('./lint.ts')
      await lintFolder(folder, server === true ? opened.api : undefined, trust === true, format, opened.output, cli)
    })
}

export function addTestCommand (program: Command, cli: Cli): void {
  program.command('test').description('run the tests of prompts; ends with 1 when one fails')
    .argument('[what...]', 'a folder, whose tests are run on its prompts; or ids of prompts, such as review.short@9, whose tests a service has (default: ".")')
    .option('--server', 'test the prompts of a service: with the tests of a folder, or without one all that it has')
    .option('--label <label>', 'the version that a label means')
    .option(...TRUST)
    .addOption(new Option('--format <format>', 'junit: XML for build servers; github: annotations of a workflow')
      .choices(['text', 'json', 'junit', 'github'])
      .default('text'))
    .action(async (what: readonly string[], options: TestOptions, command: Command) => {
      const { testPrompts } = await import('./test.ts')
      await testPrompts(what, options, cli.open(command), cli)
    })
}
