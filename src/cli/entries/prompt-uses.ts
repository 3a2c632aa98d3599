import { type Command } from 'commander'
import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { type Cli } from '../cli.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'
import { type EntryKind } from './entry-kinds.ts'
import { type IdOptions, idOf, withId } from './entry-id.ts'
import { oneOf } from './noun.ts'
import { pathOf } from './publish.ts'

/** Adds `aps prompt needs`, which prints what a prompt reads: variables, shared variables, tools and partials. */
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

/** Adds `used-by` to the commands of a kind: it lists the prompts that use an entry. */
export function addUsedByCommand (group: Command, kind: EntryKind, cli: Cli): void {
  withId(group.command('used-by').description(`list the prompts that a change of ${oneOf(kind.noun)} would reach`), kind)
    .action(async (id: string | undefined, options: IdOptions, command: Command) => {
      const { api, output } = cli.open(command)
      const users = await api.list(`${pathOf(kind, idOf(kind, id, options))}/used-by`, { limit: '500' })
      if (output.wantsJson) return await output.json(users)
      await output.rows(['id', 'how', 'through'], users.map(objectOf).map(({ id: user, direct, through }) => [
        textOf(user),
        direct === true ? 'direct' : 'through',
        listOf(through).map(textOf).join(', ')
      ]))
    })
}

type NeedPart<Part> = (need: JsonObject) => Part

function rowsOf (needs: JsonObject): string[][] {
  const rows = (field: string, what: string, nameOf: NeedPart<Json | undefined>, stateOf: NeedPart<string>): string[][] =>
    listOf(needs[field]).map(objectOf).map(need => [what, textOf(nameOf(need)), stateOf(need), placeOf(need)])
  const path = (need: JsonObject) => need['path']
  const idOrName = (need: JsonObject) => need['id'] ?? need['name']
  const linkState = (need: JsonObject) => need['id'] === undefined ? 'missing' : 'registered'
  return [
    ...rows('variables', 'variable', path, variableState),
    ...rows('environs', 'environ', path, need => need['registered'] === true ? 'registered' : 'missing'),
    ...rows('caller', 'caller', path, need => textOf(need['use'])),
    ...rows('tools', 'tool', idOrName, linkState),
    ...rows('partials', 'partial', idOrName, linkState)
  ]
}

function variableState ({ required, default: standard }: JsonObject): string {
  if (required === true) return 'required'
  return standard === undefined ? 'optional' : `default ${stringifyJson(standard)}`
}

function placeOf ({ in: partial, messageIndex, part, line, column }: JsonObject): string {
  if (line === undefined) return ''
  const ofPartial = partial === undefined ? '' : `${textOf(partial)}:`
  const ofMessage = messageIndex === undefined ? '' : `[${String(messageIndex)}]:`
  const ofPart = part === undefined ? '' : `[${String(part)}]:`
  return `${ofPartial}${ofMessage}${ofPart}${String(line)}:${String(column)}`
}
