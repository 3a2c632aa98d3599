import { type Command } from 'commander'
import { type Json, type JsonObject } from '../../base/json.ts'
import { type ApiClient, apiPath } from '../api-client.ts'
import { type Cli } from '../cli.ts'
import { CliError, EXIT, usageError } from '../exit-codes.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'
import { tellDiagnostics } from '../entries/publish.ts'
import { moveLabel, wordsOf } from './labels.ts'

interface LabelOptions { readonly remove?: true, readonly note?: string }

interface NoteOption { readonly note?: string }

/** Adds `aps prompt versions`, `label`, `rollback` and `restore`, which list and choose the versions of a prompt. */
export function addReleaseCommands (group: Command, cli: Cli): void {
  group.command('versions').description('list the versions of a prompt, and what its labels mean').argument('<id>', 'the prompt')
    .action(async (id: string, _options: object, command: Command) => {
      const { api, output } = cli.open(command)
      const history = objectOf(await api.get(versionsPath(id)))
      if (output.wantsJson) return await output.json(history)
      await output.rows(['version', 'labels', 'at', 'by', 'note'], listOf(history['versions']).map(objectOf).map(version => rowOf(version, history)))
    })

  group.command('label').description('let a label mean a version of a prompt')
    .argument('<id>', 'the prompt')
    .argument('<label>', 'the label, such as production')
    .argument('[version]', 'a number; latest, which is made a version first; or 9=5,7=95: several with weights')
    .option('--remove', 'remove the label in place of moving it')
    .option('--note <text>', 'what for, kept with the move')
    .action(async (id: string, label: string, version: string | undefined, { remove, note }: LabelOptions, command: Command) => {
      const { api, output } = cli.open(command)
      if ((remove === true) === (version !== undefined)) throw usageError('expected a version, or --remove')
      if (version === undefined) {
        await api.delete(apiPath('api', 'prompts', id, 'labels', label))
        return await output.words(`prompt ${id} has no label ${label} now`)
      }
      const history = await moveLabel(api, id, label, targetOf(version), note)
      if (output.wantsJson) return await output.json(history)
      await output.words(`${label} of prompt ${id} means version ${wordsOf(objectOf(history['labels'])[label])} now`)
    })

  group.command('rollback').description('let a label mean what it meant before it was last moved')
    .argument('<id>', 'the prompt')
    .argument('<label>', 'the label')
    .option('--note <text>', 'what for, kept with the move')
    .action(async (id: string, label: string, { note }: NoteOption, command: Command) => {
      const { api, output } = cli.open(command)
      const { version, etag } = await meantBefore(api, id, label)
      // The condition makes the service refuse a rollback if somebody has moved the label meanwhile.
      const history = await moveLabel(api, id, label, version, note, { 'if-match': etag })
      if (output.wantsJson) return await output.json(history)
      await output.words(`${label} of prompt ${id} means version ${wordsOf(version)} again`)
    })

  group.command('restore').description('publish a version of a prompt again, as a new one').argument('<id>', 'the prompt').argument('<version>', 'its number')
    .option('--note <text>', 'what for, kept with the new version')
    .action(async (id: string, version: string, { note }: NoteOption, command: Command) => {
      const { api, output } = cli.open(command)
      const path = apiPath('api', 'prompts', id, 'versions', String(numberOf(version)), 'restore')
      const reply = objectOf(await api.post(path, note === undefined ? {} : { note }))
      if (output.wantsJson) return await output.json(reply)
      await tellDiagnostics(output, reply['diagnostics'])
      await output.words(`prompt ${id} is what version ${version} was${reply['version'] === undefined ? '' : `, as version ${String(reply['version'])}`}`)
    })
}

function versionsPath (id: string): string {
  return apiPath('api', 'prompts', id, 'versions')
}

function rowOf ({ n = 0, at, by, note, source, from }: JsonObject, { labels, latest }: JsonObject): string[] {
  const shares = Object.entries(objectOf(labels)).flatMap(([label, target]) => {
    if (target === n) return [label]
    const share = listOf(target).map(objectOf).find(({ version }) => version === n)
    return share === undefined ? [] : [`${label} ${String(share['weight'])} %`]
  })
  const words = textOf(note) || textOf(source) || (from === undefined ? '' : `restores ${String(from)}`)
  return [String(n), [...shares, ...(latest === n ? ['latest'] : [])].join(', '), textOf(at), textOf(by), words]
}

/** Finds the version that a label meant before its last move, and the ETag of the prompt's history, which lists the moves. @throws CliError */
async function meantBefore (api: ApiClient, id: string, label: string): Promise<{ readonly version: Json, readonly etag: string }> {
  const { json, etag } = await api.getTagged(versionsPath(id))
  const move = listOf(objectOf(json)['moves']).map(objectOf).find(each => each['label'] === label)
  if (move === undefined) throw new CliError(EXIT.NO, `no move of the label ${label} of prompt ${id} is recorded`)
  const version = move['from'] ?? null
  if (version === null) throw new CliError(EXIT.NO, `the label ${label} of prompt ${id} meant nothing before`)
  return { version, etag }
}

/** Reads the version for a label as the user wrote it: a number, `latest`, or weights as `9=5,7=95`. @throws CliError */
function targetOf (given: string): Json {
  if (given === 'latest') return given
  if (!given.includes('=')) return numberOf(given)
  return given.split(',').map(share => {
    const [version = '', weight = ''] = share.split('=')
    return { version: numberOf(version), weight: numberOf(weight) }
  })
}

/** Reads the number of a version. @throws CliError */
function numberOf (given: string): number {
  if (!/^[1-9]\d{0,14}$/.test(given)) throw usageError(`expected a number such as 7, latest, or 9=5,7=95, got "${given}"`)
  return Number(given)
}
