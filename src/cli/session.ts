import type { Command } from 'commander'
import { objectOf, parseJson, textOf } from '../base/json.ts'
import type { Status } from '../session/model.ts'
import { type ApiClient, apiPath, type ApiReply } from './api-client.ts'
import { askYesOrNo, type Cli, openLines } from './context.ts'
import { placeIn } from './dialogue.ts'
import { type Output, usageError } from './output.ts'

export function addSessionCommands (program: Command, cli: Cli): void {
  const session = program.command('session').description('list, show, follow and cancel sessions')

  session.command('list').description('list sessions, the newest first')
    .option('--status <status>', 'only those that are so')
    .option('--definition <id>', 'only those of a definition, as agents/helper')
    .action(async (options: { readonly status?: Status, readonly definition?: string }, command: Command) => {
      const { api, output } = cli.open(command)
      const sessions = await everyPage(async after => {
        const page = await api.ask('get', '/api/sessions', { ...options, limit: 200, after })
        return { rows: page.sessions, next: page.next }
      })
      if (output.wantsJson) return await output.json(sessions)
      const columns = ['id', 'status', 'definition', 'updatedAt', 'owner', 'title'] as const
      await output.rows(columns, sessions.map(row => columns.map(column => row[column] ?? '')))
    })

  session.command('show').argument('<id>', 'the session').description('show how far a session is')
    .action(async (id: string, _options: object, command: Command) => {
      const { api, output } = cli.open(command)
      const reply = await api.ask('get', '/api/sessions/{id}', { id })
      if (output.wantsJson) return await output.json(reply)
      const { stringify } = await import('yaml')
      await output.text(stringify(reply))
    })

  session.command('tree').argument('<id>', 'the session').description('show a session, and all that agents have started below it')
    .action(async (id: string, _options: object, command: Command) => {
      const { api, output } = cli.open(command)
      const tree = await api.ask('get', '/api/sessions/{id}/tree', { id })
      if (output.wantsJson) return await output.json(tree)
      await output.rows(['session', 'status', 'definition'], treeRows(tree, 0))
    })

  session.command('follow').argument('<id>', 'the session').description('print what a session has said and says, until it ends')
    .option('--after <event>', 'begin behind an event, as 4.1')
    .action(async (id: string, { after }: { readonly after?: string }, command: Command) => {
      const { api, output } = cli.open(command)
      const search = after === undefined ? '' : `?${new URLSearchParams({ after }).toString()}`
      let last = after
      try {
        for await (const { name, data, bytes } of api.events(`${apiPath('api', 'sessions', id, 'events')}${search}`)) {
          if (data === undefined || data === '') continue
          const { seq, n } = placeIn(bytes) ?? {}
          if (seq !== undefined) last = `${seq}.${n}`
          if (output.wantsJson) await output.jsonLine({ type: name, data: objectOf(parseJson(data)) })
          else if (name === 'stdout') await output.said(textOf(objectOf(parseJson(data))['text']))
          else await output.words(`${name}: ${data}`)
        }
      } finally {
        if (cli.signal.aborted) await output.words(`to go on: aps session follow ${id}${last === undefined ? '' : ` --after ${last}`}`)
      }
    })

  session.command('cancel').argument('<id>', 'the session').description('end a session')
    .action(async (id: string, _options: object, command: Command) => {
      const { api, output } = cli.open(command)
      const reply = await api.ask('post', '/api/sessions/{id}/cancel', { id }, {})
      if (output.wantsJson) return await output.json(reply)
      await output.words(`session ${id} is ${reply.status}`)
    })
}

type SessionTree = ApiReply<'get', '/api/sessions/{id}/tree'>

function treeRows ({ id, status, definition, children }: SessionTree, depth: number): string[][] {
  return [[id, status, `${'> '.repeat(depth)}${definition}`], ...children.flatMap(child => treeRows(child as SessionTree, depth + 1))]
}

async function everyPage<Row> (read: (after?: string) => Promise<{ readonly rows: readonly Row[], readonly next?: string | undefined }>): Promise<Row[]> {
  const all: Row[] = []
  let after: string | undefined
  do {
    const { rows, next } = await read(after)
    all.push(...rows)
    after = next
  } while (after !== undefined)
  return all
}

export function addApprovalCommands (program: Command, cli: Cli): void {
  const approvals = program.command('approvals').description('list what sessions may do only when a person allows it, and decide')

  approvals.command('list', { isDefault: true }).description('list what waits for a person')
    .action(async (_options: object, command: Command) => {
      const { api, output } = cli.open(command)
      const waiting = await everyPage(async after => {
        const page = await api.ask('get', '/api/approvals', { limit: 200, after })
        return { rows: page.approvals, next: page.next }
      })
      if (output.wantsJson) return await output.json(waiting)
      const columns = ['id', 'owner', 'definition', 'rule', 'expiresAt', 'title'] as const
      await output.rows(columns, waiting.map(row => columns.map(column => row[column] ?? '')))
    })

  approvals.command('get').argument('<id>', 'what waits').description('show what waits, or how it was decided')
    .action(async (id: string, _options: object, command: Command) => {
      const { api, output } = cli.open(command)
      await printApproval(await api.ask('get', '/api/approvals/{id}', { id }), output)
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
      await decide(id, { decision: 'reject', reason }, api, output)
    })
}

async function printApproval (approval: object, output: Output): Promise<void> {
  if (output.wantsJson) return await output.json(approval)
  const { stringify } = await import('yaml')
  await output.said(stringify(approval))
}

/** @returns the digest of what was shown; `undefined` when the user says no */
async function askForDigest (id: string, api: ApiClient, output: Output, cli: Cli): Promise<string | undefined> {
  if (output.terminal === undefined) throw usageError('expected --digest where nobody can be asked; aps approvals get shows it')
  const approval = await api.ask('get', '/api/approvals/{id}', { id })
  await printApproval(approval, output)
  const lines = openLines(cli, output)
  try {
    const isAllowed = await askYesOrNo(lines, output, 'allow it? y or n: ')
    if (isAllowed === undefined) await output.words(`nothing was decided; to go on: aps approvals approve ${id}`)
    return isAllowed === true ? approval.digest : undefined
  } finally {
    lines.close()
  }
}

async function decide (id: string, answer: object, api: ApiClient, output: Output): Promise<void> {
  const reply = await api.ask('post', '/api/approvals/{id}', { id }, answer)
  if (output.wantsJson) return await output.json(reply)
  await output.words(`session ${reply.id} is ${reply.status}`)
}
