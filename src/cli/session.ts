import type { Command } from 'commander'
import { stringify } from 'yaml'
import { objectOf, parseJson, textOf } from '../base/json.ts'
import type { Status } from '../session/model.ts'
import { type ApiClient, apiPath, type ApiReply } from './api-client.ts'
import { askYesOrNo, type Cli, openLines } from './context.ts'
import { placeIn } from './dialogue.ts'
import { CliError, EXIT, type Output, usageError } from './output.ts'

export function addSessionCommands (program: Command, cli: Cli): void {
  const session = program.command('session').description('list, show, follow and cancel sessions')

  session.command('list').description('list sessions, the newest first')
    .option('--status <status>', 'only those that are so')
    .option('--definition <id>', 'only those of a definition, as agents/helper')
    .option('--kind <kind>', KIND)
    .option('--of <owner>', OF)
    .option('--older <time>', OLDER)
    .option('--stuck', `only those that run, and of which nothing was written for --older, ${STUCK} if left out`)
    .action(async ({ stuck = false, ...filter }: SessionFilter & { readonly stuck?: boolean }, command: Command) => {
      if (stuck && filter.status !== undefined) throw usageError('expected --stuck or --status, got both: what is stuck is running')
      const { api, output } = cli.open(command)
      const found = await listSessions(api, stuck ? { older: STUCK, ...filter, status: 'running' } : filter)
      // One that waits for another session is as old as that one's beginning.
      const sessions = stuck ? found.filter(({ waitsFor }) => waitsFor === undefined) : found
      if (output.wantsJson) return await output.json(sessions)
      const columns = ['id', 'status', 'definition', 'updatedAt', 'owner', 'title'] as const
      await output.rows(columns, sessions.map(row => columns.map(column => row[column] ?? '')))
    })

  session.command('show').argument('<id>', 'the session').description('show how far a session is')
    .action(async (id: string, _options: object, command: Command) => {
      const { api, output } = cli.open(command)
      const reply = await api.ask('get', '/api/sessions/{id}', { id })
      if (output.wantsJson) return await output.json(reply)
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

  session.command('redrive').argument('<ids...>', 'the sessions').description('let any process go on with sessions that are stuck')
    .action(async (ids: readonly string[], _options: object, command: Command) => {
      const { api, output } = cli.open(command)
      await forEach(ids, 'redriven', output, id => api.ask('post', '/api/sessions/{id}/redrive', { id }, {}))
    })

  session.command('cancel').argument('[id]', 'the session').description('end a session, or all of some')
    .option('--all', 'all that have not ended, of those that the other options name')
    .option('--status <status>', 'only those that are so')
    .option('--definition <id>', 'only those of a definition, as agents/helper')
    .option('--kind <kind>', KIND)
    .option('--of <owner>', OF)
    .option('--older <time>', OLDER)
    .option('--yes', 'ask nobody')
    .action(async (id: string | undefined, options: SessionFilter & { readonly all?: boolean, readonly yes?: boolean }, command: Command) => {
      const { all = false, yes = false, ...filter } = options
      if (all === (id !== undefined)) throw usageError('expected a session or --all')
      const { api, output } = cli.open(command)
      if (id === undefined) return await cancelAll(filter, yes, api, output, cli)
      if (Object.keys(filter).length > 0) throw usageError('expected --all where sessions are chosen by options')
      const reply = await api.ask('post', '/api/sessions/{id}/cancel', { id }, {})
      if (output.wantsJson) return await output.json(reply)
      await output.words(`session ${id} is ${reply.status}`)
    })
}

const KIND = 'only agents, skills, plans, terminals or releases'
const OF = 'only those of the token of this name'
const OLDER = 'only those of which nothing was written for so long, as 30s, 10m, 2h or 7d'

const STUCK = '5m'

interface SessionFilter {
  readonly status?: Status | 'open'
  readonly definition?: string
  readonly kind?: 'agents' | 'skills' | 'plans' | 'terminals' | 'releases'
  readonly of?: string
  readonly older?: string
}

/** Sessions begin before anything is written of them: older ones alone are read. */
async function listSessions (api: ApiClient, { of: owner, older, ...query }: SessionFilter) {
  const before = older === undefined ? undefined : new Date(Date.now() - msIn(older)).toISOString()
  const sessions = await everyPage(async after => {
    const page = await api.ask('get', '/api/sessions', { ...query, owner, until: before, limit: 200, after })
    return { rows: page.sessions, next: page.next }
  })
  return before === undefined ? sessions : sessions.filter(({ updatedAt }) => updatedAt < before)
}

const UNITS: ReadonlyMap<string, number> = new Map([['s', 1000], ['m', 60_000], ['h', 3_600_000], ['d', 86_400_000]])

/** @throws CliError */
function msIn (text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (count === undefined) throw usageError(`--older: expected a time as 30s, 10m, 2h or 7d, got ${JSON.stringify(text)}`)
  return Number(count) * (UNITS.get(unit) ?? 0)
}

/** Asks on a terminal, and wants `--yes` elsewhere. */
async function cancelAll (filter: SessionFilter, yes: boolean, api: ApiClient, output: Output, cli: Cli): Promise<void> {
  if (!yes && output.terminal === undefined) throw usageError('expected --yes where nobody can be asked; aps session list shows them')
  const found = await listSessions(api, { status: 'open', ...filter })
  if (found.length > 0 && !yes) {
    for (const { id, status, definition, title = '' } of found.slice(0, SHOWN)) await output.words([id, status, definition, title].join('  '))
    if (found.length > SHOWN) await output.words(`… and ${found.length - SHOWN} more`)
    const lines = openLines(cli, output)
    try {
      const question = `end ${found.length === 1 ? 'this session' : `these ${found.length} sessions`}? y or n: `
      if (await askYesOrNo(lines, output, question) !== true) return await output.words('none was ended')
    } finally {
      lines.close()
    }
  }
  await forEach(found.map(({ id }) => id), 'cancelled', output, id => api.ask('post', '/api/sessions/{id}/cancel', { id }, {}))
}

const SHOWN = 20

/** Where the service says no to one, the others are tried, too. @throws CliError when it did */
async function forEach (ids: readonly string[], done: string, output: Output, act: (id: string) => Promise<unknown>): Promise<void> {
  const failed: Array<{ readonly id: string, readonly message: string }> = []
  for (const id of ids) {
    try {
      await act(id)
    } catch (error) {
      if (!(error instanceof CliError) || error.exitCode !== EXIT.NO) throw error
      failed.push({ id, message: error.message })
    }
  }
  const refused = new Set(failed.map(({ id }) => id))
  const [count, isJson] = [ids.length - failed.length, output.wantsJson]
  if (isJson) await output.json({ [done]: ids.filter(id => !refused.has(id)), failed })
  else await output.words(`${count} ${count === 1 ? 'session is' : 'sessions are'} ${done}`)
  const reasons = failed.map(({ id, message }) => `${id}: ${message}`).join('; ')
  if (failed.length > 0) throw new CliError(EXIT.NO, `${failed.length} of ${ids.length} not: ${reasons}`)
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
