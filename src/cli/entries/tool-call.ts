import { type Command } from 'commander'
import { type Json, parseJson, stringifyJson } from '../../base/json.ts'
import { type Cli } from '../cli.ts'
import { CliError, EXIT, usageError } from '../exit-codes.ts'
import { objectOf, textOf } from '../json-members.ts'
import { readParameters } from '../parameters.ts'
import { type EntryKind } from './entry-kinds.ts'
import { valueTextOf } from './entry-text.ts'
import { pathOf } from './publish.ts'

/** Adds `aps tool call`, which calls one registered tool by hand and prints its result. */
export function addCallCommand (group: Command, kind: EntryKind, cli: Cli): void {
  group.command('call').description('call a tool by hand, and print what it gives').argument('<id>', 'the tool')
    .argument('[arguments...]', 'name=value: JSON if it is that, else a text; name=@file or name=@- for stdin')
    .option('-v, --args <object>', 'arguments as JSON or YAML, @file or @- for stdin')
    .action(async (id: string, given: readonly string[], { args }: { readonly args?: string }, command: Command) => {
      const { api, output } = cli.open(command)
      const typed = given.filter(each => /^[^=]+=(?!@)/.test(each)).map(typedArgument)
      const read = await readParameters({ param: given.filter(each => !/^[^=]+=(?!@)/.test(each)), args }, cli.stdin, cli.signal)
      const reply = objectOf(await api.post(`${pathOf(kind, id)}/call`, { arguments: Object.fromEntries([...Object.entries(read), ...typed]) }))
      if (output.wantsJson) return await output.json(reply)
      const { value = null, outcome, durationMs, error } = reply
      await output.text(typeof value === 'string' ? value : stringifyJson(value, 2))
      await output.words(`${textOf(outcome)}, ${String(durationMs)} ms`)
      if (outcome !== 'failed') return
      const { message, code } = objectOf(error)
      throw new CliError(EXIT.NO, `${textOf(message)} (${textOf(code)}); what is printed stands in for it`)
    })
}

function typedArgument (given: string): [name: string, value: Json] {
  const equals = given.indexOf('=')
  if (equals < 1) throw usageError(`expected name=value, got "${given}"`)
  const { text, type } = valueTextOf(given.slice(equals + 1))
  return [given.slice(0, equals), type === 'text/plain' ? text : parseJson(text)]
}
