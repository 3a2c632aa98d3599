import { type Command } from 'commander'
import { type Cli } from '../cli.ts'
import { type EntryKind } from '../entries/entry-kinds.ts'

/** Adds `apply` to the group of a kind. */
export function addApplyCommand (group: Command, kind: EntryKind, cli: Cli): void {
  group.command('apply').description(`publish the ${kind.noun}s of a file or a folder`)
    .requiredOption('-f, --file <path>', `a file, or a folder ${kind.key}/ or with one`)
    .option('-i, --id <id>', 'for a file whose path does not say it')
    .action(async (options: { readonly file: string, readonly id?: string }, command: Command) => {
      const { applyEntries } = await import('./apply.ts')
      await applyEntries(kind, options.file, options.id, cli.open(command))
    })
}
