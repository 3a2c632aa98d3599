import { type Command } from 'commander'
import { type Json, type JsonObject } from '../../base/json.ts'
import { type ApiClient, apiPath } from '../api-client.ts'
import { type Cli } from '../cli.ts'
import { usageError } from '../exit-codes.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'
import { askYesOrNo, openLines } from '../lines.ts'
import { type Output } from '../output.ts'

/** Adds the command group `aps approvals`: lists actions of agents and skills that wait for a person, and approves or rejects them. */
export function addApprovalCommands (program: Command, cli: Cli): void {
  const approvals = program.command('approvals').description('list what sessions may do only when a person allows it, and decide')

  approvals.command('list', { isDefault: true }).description('list what waits for a person')
    .action(async (_options: object, command: Command) => {
      const { api, output } = cli.open(command)
      const waiting = await listApprovals(api)
      if (output.wantsJson) return await output.json(waiting)
      const columns = ['id', 'owner', 'definition', 'rule', 'expiresAt', 'title']
      await output.rows(columns, waiting.map(row => columns.map(column => textOf(objectOf(row)[column]))))
    })

  approvals.command('get').argument('<id>', 'what waits').description('show what waits, or how it was decided')
    .action(async (id: string, _options: object, command: Command) => {
      const { api, output } = cli.open(command)
      await show(objectOf(await api.get(apiPath('api', 'approvals', id))), output)
    })

  approvals.command('approve').argument('<id>', 'what waits').description('allow it, once it was shown')
    .option('--digest <digest>', 'of what was shown elsewhere; then nobody is asked')
    .action(async (id: string, { digest }: { readonly digest?: string }, command: Command) => {
      const { api, output } = cli.open(command)
      const shown = digest ?? await askForDigest(id, api, output, cli)
      if (shown !== undefined) await decide(id, { decision: 'approve', digest: shown }, api, output)
    })

  approvals.command('reject').argument('<id>', 'what waits').description('refuse it')
    .option('--reason <text>', 'for whoever waits')
    .action(async (id: string, { reason }: { readonly reason?: string }, command: Command) => {
      const { api, output } = cli.open(command)
      await decide(id, { decision: 'reject', ...(reason === undefined ? {} : { reason }) }, api, output)
    })
}

async function listApprovals (api: ApiClient): Promise<Json[]> {
  const waiting: Json[] = []
  for (let after: string | undefined = ''; after !== undefined;) {
    const page = objectOf(await api.get(`/api/approvals?${new URLSearchParams({ limit: '200', ...(after === '' ? {} : { after }) }).toString()}`))
    waiting.push(...listOf(page['approvals']))
    after = page['next'] === undefined ? undefined : textOf(page['next'])
  }
  return waiting
}

async function show (approval: JsonObject, output: Output): Promise<void> {
  if (output.wantsJson) return await output.json(approval)
  const { stringify } = await import('yaml')
  await output.said(stringify(approval))
}

/**
 * Shows an action that waits for approval, and asks whether it may happen. @returns the digest of what was shown; `undefined` when the user
 * says no
 */
async function askForDigest (id: string, api: ApiClient, output: Output, cli: Cli): Promise<string | undefined> {
  if (output.terminal === undefined) throw usageError('expected --digest where nobody can be asked; aps approvals get shows it')
  const approval = objectOf(await api.get(apiPath('api', 'approvals', id)))
  await show(approval, output)
  const lines = openLines(cli, output)
  try {
    const isAllowed = await askYesOrNo(lines, output, 'allow it? y or n: ')
    if (isAllowed === undefined) await output.words(`nothing was decided; to go on: aps approvals approve ${id}`)
    return isAllowed === true ? textOf(approval['digest']) : undefined
  } finally {
    lines.close()
  }
}

async function decide (id: string, answer: JsonObject, api: ApiClient, output: Output): Promise<void> {
  const reply = objectOf(await api.post(apiPath('api', 'approvals', id), answer))
  if (output.wantsJson) return await output.json(reply)
  await output.words(`session ${textOf(reply['id'])} is ${textOf(reply['status'])}`)
}
