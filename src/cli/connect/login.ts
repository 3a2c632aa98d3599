import { addAbortSignal } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type Command } from 'commander'
import { type Cli } from '../cli.ts'
import { usageError } from '../exit-codes.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'
import { type AddressOptions, DEFAULT_URL, tokenOf } from './address.ts'
import { readProfiles, writeProfile } from './profiles.ts'

interface LoginOptions extends AddressOptions { readonly tokenStdin?: true, readonly tokenCommand?: string }

/**
 * Adds `aps login`: saves the address of a service, and its token or the command that prints one, as a profile, once the service has
 * accepted the token.
 */
export function addLoginCommand (program: Command, cli: Cli): void {
  program.command('login').description('keep the address and the token of a service as a profile, which is asked from then on')
    .option('--token-stdin', 'the token is what stdin has')
    .option('--token-command <command>', 'in place of the token, a command of the shell that prints it')
    .action(async (_options: object, command: Command) => {
      const { output } = cli.open(command)
      const { url: given, at: name = cli.environment['APS_PROFILE'] || 'default', tokenStdin, tokenCommand } = command.optsWithGlobals<LoginOptions>()
      if (tokenStdin === true && tokenCommand !== undefined) throw usageError('--token-stdin and --token-command both say what the token is: give one of them')
      const url = given ?? (cli.environment['APS_URL'] || readProfiles(cli.environment).named.get(name)?.url || DEFAULT_URL)
      const token = tokenStdin === true ? (await text(addAbortSignal(cli.signal, cli.stdin))).trim() : undefined
      if (token === '') throw usageError('--token-stdin: expected a token, and stdin was empty')
      const profile = { url, ...(token === undefined ? {} : { token }), ...(tokenCommand === undefined ? {} : { tokenCommand }) }
      const caller = objectOf(await cli.connect(url, tokenOf(profile, cli.environment)).get('/api/caller'))
      const file = await writeProfile(cli.environment, name, profile)
      if (output.wantsJson) return await output.json(caller)
      const roles = listOf(caller['roles']).map(textOf).join(', ')
      const who = textOf(caller['mode']) === 'open' ? 'which asks for no token' : `as ${textOf(caller['name'])} (${roles})`
      await output.words(`${url} is asked from now on, ${who}; profile "${name}" in ${file}`)
    })
}
