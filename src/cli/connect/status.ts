import { type Command } from 'commander'
import { type Cli } from '../cli.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'

/** Adds `aps status`, which prints how many entries of each kind a service has, and what is wrong with them. */
export function addStatusCommand (program: Command, cli: Cli): void {
  program.command('status').description('show what a service serves, and what is wrong with what is registered')
    .action(async (_options: object, command: Command) => {
      const { api, output } = cli.open(command)
      const ready = objectOf(await api.get('/readyz'))
      // The list of problems needs the role `read`: the command ends here with an error if the token does not have that role.
      const problems = await api.list('/api/status/entries', { limit: '200' })
      if (output.wantsJson) return await output.json({ ...ready, problems })
      const store = objectOf(ready['store'])
      await output.words(`${textOf(ready['status'])}: ${textOf(store['variant'])}, changes are ${textOf(store['changes'])}`)
      const kinds = Object.entries(objectOf(ready['kinds'])).map(([name, kind]) => {
        const { entries, revision, held } = objectOf(kind)
        return [name, String(entries ?? ''), textOf(revision), held === true ? 'held' : '']
      })
      await output.rows(['kind', 'entries', 'revision', 'state'], kinds)
      for (const problem of problems.map(objectOf)) {
        const name = textOf(problem['key']) || textOf(problem['cursor'])
        for (const { severity, code, message, line, column } of listOf(problem['diagnostics']).map(objectOf)) {
          await output.words(`${name}:${String(line)}:${String(column)}: ${textOf(severity)}: ${textOf(message)} (${textOf(code)})`)
        }
      }
    })
}
