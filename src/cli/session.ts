import { type Command } from 'commander'
import { type Json, type JsonObject, parseJson } from '../base/json.ts'
import { type ApiClient, apiPath } from './api-client.ts'
import { type Cli } from './cli.ts'
import { placeIn } from './dialogue/remote-dialogues.ts'
import { listOf, objectOf, textOf } from './json-members.ts'

/** Adds the command group `aps session`: list, show, follow and cancel sessions (dialogues with agents, skills and plans). */
export function addSessionCommands (program: Command, cli: Cli): void {
  const session = program.command('session').description('list, show, follow and cancel sessions')

  session.command('list').description('list sessions, the newest first')
    .option('--status <status>', 'only those that are so')
    .option('--definition <id>', 'only those of a definition, as agents/helper')
    .action(async (options: { readonly status?: string, readonly definition?: string }, command: Command) => {
      const { api, output } = cli.open(command)
      const sessions = await listSessions(api, options)
      if (output.wantsJson) return await output.json(sessions)
      const columns = ['id', 'status', 'definition', 'updatedAt', 'owner']
      await output.rows(columns, sessions.map(row => columns.map(column => textOf(objectOf(row)[column]))))
    })

  session.command('show').argument('<id>', 'the session').description('show how far a session is')
    .action(async (id: string, _options: object, command: Command) => {
      const { api, output } = cli.open(command)
      const reply = objectOf(await api.get(apiPath('api', 'sessions', id)))
      if (output.wantsJson) return await output.json(reply)
      const { stringify } = await import('yaml')
      await output.text(stringify(reply))
    })

  session.command('tree').argument('<id>', 'the session').description('show a session, and all that agents have started below it')
    .action(async (id: string, _options: object, command: Command) => {
      const { api, output } = cli.open(command)
      const tree = objectOf(await api.get(apiPath('api', 'sessions', id, 'tree')))
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
      const reply = objectOf(await api.post(apiPath('api', 'sessions', id, 'cancel'), {}))
      if (output.wantsJson) return await output.json(reply)
      await output.words(`session ${id} is ${textOf(reply['status'])}`)
    })
}

/** The rows of a tree of sessions: a session, then those that it has started, with a `>` for each level below the first. */
function treeRows ({ id, status, definition, children }: JsonObject, depth: number): string[][] {
  const row = [textOf(id), textOf(status), `${'> '.repeat(depth)}${textOf(definition)}`]
  return [row, ...listOf(children).map(objectOf).flatMap(child => treeRows(child, depth + 1))]
}

/** Reads all sessions from the service, page after page. */
async function listSessions (api: ApiClient, query: Readonly<Record<string, string>>): Promise<Json[]> {
  const sessions: Json[] = []
  let after: string | undefined
  do {
    const search = new URLSearchParams({ ...query, limit: '200', ...(after === undefined ? {} : { after }) })
    const page = objectOf(await api.get(`/api/sessions?${search.toString()}`))
    sessions.push(...listOf(page['sessions']))
    after = page['next'] === undefined ? undefined : textOf(page['next'])
  } while (after !== undefined)
  return sessions
}
