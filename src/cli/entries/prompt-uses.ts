import { type Command } from 'commander'
import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { type Cli } from '../cli.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'
import { type EntryKind } from './entry-kinds.ts'
import { type IdOptions, idOf, withId } from './entry-id.ts'
import { pathOf } from './publish.ts'

/** Adds `aps prompt needs`. */
export function addNeedsCommand (group: Command, kind: EntryKind, cli: Cli): void {
  withId(group.command('needs').description('print the variables, shared variables, tools and partials that a prompt needs'), kind)
    .action(async (id: string | undefined, options: IdOptions, command: Command) => {
      const { api, output } = cli.open(command)
      const needs = objectOf(await api.get(`${pathOf(kind, idOf(kind, id, options))}/needs`))
      if (output.wantsJson) return await output.json(needs)
      await output.rows(['what', 'name', 'state', 'place'], rowsOf(needs))
      if (needs['complete'] === false) await output.words('there is more in it than was looked at')
    })
}

/** Adds `used-by` to the group of a kind. */
export function addUsedByCommand (group: Command, kind: EntryKind, cli: Cli): void {
  withId(group.command('used-by').description(`list the prompts that a change of a ${kind.noun} would reach`), kind)
    .action(async (id: string | undefined, options: IdOptions, command: Command) => {
      const { api, output } = cli.open(command)
      const users = await api.list(`${pathOf(kind, idOf(kind, id, options))}/used-by`, { limit: '500' })
      if (output.wantsJson) return await output.json(users)
      await output.rows(['id', 'how', 'through'], users.map(objectOf).map(({ id: user, direct, through }) => [textOf(user), direct === true ? 'direct' : 'through', listOf(through).map(textOf).join(', ')]))
    })
}

function rowsOf (needs: JsonObject): string[][] {
  const row = (what: string, name: Json | undefined, state: string, need: JsonObject) => [what, textOf(name), state, placeOf(need)]
  return [
    ...listOf(needs['variables']).map(objectOf).map(need => row('variable', need['path'], need['required'] === true ? 'required' : need['default'] === undefined ? 'optional' : `default ${stringifyJson(need['default'])}`, need)),
    ...listOf(needs['environs']).map(objectOf).map(need => row('environ', need['path'], need['registered'] === true ? 'registered' : 'missing', need)),
    ...listOf(needs['caller']).map(objectOf).map(need => row('caller', need['path'], textOf(need['use']), need)),
    ...listOf(needs['tools']).map(objectOf).map(need => row('tool', need['id'] ?? need['name'], need['id'] === undefined ? 'missing' : 'registered', need)),
    ...listOf(needs['partials']).map(objectOf).map(need => row('partial', need['id'] ?? need['name'], need['id'] === undefined ? 'missing' : 'registered', need))
  ]
}

function placeOf ({ in: partial, messageIndex, part, line, column }: JsonObject): string {
  if (line === undefined) return ''
  return `${partial === undefined ? '' : `${textOf(partial)}:`}${messageIndex === undefined ? '' : `[${String(messageIndex)}]:`}${part === undefined ? '' : `[${String(part)}]:`}${String(line)}:${String(column)}`
}
