import { type Command } from 'commander'
import { withArticle } from '../../base/text.ts'
import { usageError } from '../exit-codes.ts'
import { type EntryKind } from './entry-kinds.ts'

/** The option that names an entry; every command takes the id as an argument, too. */
export interface IdOptions { readonly id?: string }

/** Adds to a command both ways to name an entry: an argument and an option. */
export function withId (command: Command, { noun }: Pick<EntryKind, 'noun'>): Command {
  return command.argument('[id]', `the ${noun}`).option('-i, --id <id>', `the ${noun}, where it is no argument`)
}

/** The id of an entry, which the user gives as the argument or with `--id`. @throws CliError if the user gives none, or two that differ */
export function idOf ({ noun, command }: Pick<EntryKind, 'noun' | 'command'>, argument: string | undefined, { id = argument }: IdOptions): string {
  if (id === undefined || id === '') throw usageError(`expected the id of ${withArticle(noun)}; aps ${command} list shows them`)
  if (argument !== undefined && id !== argument) throw usageError(`expected one id, got "${argument}" and "${id}"`)
  return id
}
