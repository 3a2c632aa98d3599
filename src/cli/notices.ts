import type { Command } from 'commander'
import type { Cli } from './context.ts'
import { CliError, EXIT } from './output.ts'

export function addNoticeCommands (program: Command, cli: Cli): void {
  const group = program.command('notices').description('show and try what the service tells people')

  group.command('list').description('list notices that wait or are dead')
    .option('--to <receiver>', 'only those for a receiver')
    .action(async ({ to }: { readonly to?: string }, command: Command) => {
      const { api, output } = cli.open(command)
      const found = []
      let after: string | undefined
      do {
        const page = await api.ask('get', '/api/notices', { receiver: to, limit: 200, after })
        found.push(...page.notices)
        after = page.next
      } while (after !== undefined)
      if (output.wantsJson) return await output.json(found)
      await output.table(['id', 'to', 'state', 'tries', 'at', 'words', 'problem'], found.map(each => [
        each.id, each.receiver, each.state, String(each.tries), each.at, each.words, each.problem ?? ''
      ]))
    })

  group.command('resend').description('send notices again that are dead or wait').argument('<id...>', 'of the notices')
    .action(async (ids: readonly string[], _options: object, command: Command) => {
      const { api, output } = cli.open(command)
      for (const id of ids) {
        await api.ask('post', '/api/notices/{id}/resend', { id }, {})
        await output.words(`${id} is sent again`)
      }
    })

  group.command('test').description('send a test to a receiver').argument('<name>', 'of the receiver in OPERATOR_FILE')
    .action(async (name: string, _options: object, command: Command) => {
      const { api, output } = cli.open(command)
      const sent = await api.ask('post', '/api/notices/receivers/{name}/test', { name }, {})
      if (output.wantsJson) await output.json(sent)
      else if (sent.problem === undefined) await output.words(`${name} took ${sent.id} with status ${sent.status} after ${sent.milliseconds} ms`)
      if (sent.problem !== undefined) throw new CliError(EXIT.NO, `${name} ${sent.problem}${sent.quote === undefined ? '' : `: ${sent.quote}`}`)
    })
}
