import type { Command } from 'commander'
import { isJsonObject, type Json, textIn } from '../base/json.ts'
import { type LabelTarget, meantBefore } from '../registry/kinds/release-record.ts'
import { type ApiClient, apiPath, type ApiReply } from './api-client.ts'
import type { Cli } from './context.ts'
import { tellDiagnostics } from './entries.ts'
import { CliError, EXIT, usageError } from './output.ts'

const OVERRIDE = 'for an admin: why nobody else is asked to look first, kept with the move'

export function addReleaseCommands (group: Command, cli: Cli): void {
  group.command('versions').description('list the versions of a prompt, and what its labels mean').argument('<id>', 'the prompt')
    .action(async (id: string, _options: object, command: Command) => {
      const { api, output } = cli.open(command)
      const history = await api.ask('get', '/api/prompts/{id}/versions', { id })
      if (output.wantsJson) return await output.json(history)
      await output.table(['version', 'labels', 'at', 'by', 'note'], history.versions.map(version => rowOf(version, history)))
      for (const move of history.moves) await output.words(describeMove(move))
    })

  group.command('label').description('let a label mean a version of a prompt')
    .argument('<id>', 'the prompt')
    .argument('<label>', 'the label, such as production')
    .argument('[version]', 'a number; latest, which is made a version first; or 9=5,7=95: several with weights')
    .option('--remove', 'remove the label in place of moving it')
    .option('--note <text>', 'what for, kept with the move')
    .option('--override <reason>', OVERRIDE)
    .action(async (
      id: string, label: string, version: string | undefined, { remove, note, override }: { remove?: true, note?: string, override?: string }, command: Command
    ) => {
      const { api, output } = cli.open(command)
      if ((remove === true) === (version !== undefined)) throw usageError('expected a version, or --remove')
      if (version === undefined) {
        const query = override === undefined ? '' : `?${new URLSearchParams({ override }).toString()}`
        refuseAsked(api, await api.delete(`${apiPath('api', 'prompts', id, 'labels', label)}${query}`))
        return await output.words(`prompt ${id} has no label ${label} now`)
      }
      const history = await moveLabel(api, id, label, targetOf(version), { note, override })
      if (output.wantsJson) return await output.json(history)
      await output.words(`${label} of prompt ${id} means version ${wordsOf(history.labels[label])} now`)
    })

  group.command('rollback').description('let a label mean what it meant before it was last moved, once; a repeated call changes nothing')
    .argument('<id>', 'the prompt')
    .argument('<label>', 'the label')
    .option('--again', 'go back further, although the label was rolled back already')
    .option('--note <text>', 'what for, kept with the move')
    .option('--override <reason>', OVERRIDE)
    .action(async (id: string, label: string, { again, ...about }: { again?: true, note?: string, override?: string }, command: Command) => {
      const { api, output } = cli.open(command)
      const { json, etag } = await api.getTagged(apiPath('api', 'prompts', id, 'versions'))
      const before = meantBefore((json as History).moves, label)
      if (before === undefined) throw new CliError(EXIT.NO, `no move of the label ${label} of prompt ${id} is recorded`)
      const { target: version, undone } = before
      if (undone !== undefined && again !== true) {
        if (output.wantsJson) return await output.json(json)
        const further = version === null ? 'before that it meant nothing' : `--again goes back to version ${wordsOf(version)}`
        const done = `${label} of prompt ${id} was rolled back at ${undone.at} already`
        return await output.words(`${done}, and means version ${wordsOf(undone.to)}; ${further}`)
      }
      if (version === null) throw new CliError(EXIT.NO, `the label ${label} of prompt ${id} meant nothing before`)
      // Refused if somebody has moved the label meanwhile.
      const history = await moveLabel(api, id, label, version, about, { 'if-match': etag })
      if (output.wantsJson) return await output.json(history)
      await output.words(`${label} of prompt ${id} means version ${wordsOf(version)} again`)
    })

  group.command('restore').description('publish a version of a prompt again, as a new one').argument('<id>', 'the prompt').argument('<version>', 'its number')
    .option('--note <text>', 'what for, kept with the new version')
    .action(async (id: string, version: string, { note }: { note?: string }, command: Command) => {
      const { api, output } = cli.open(command)
      const reply = await api.ask('post', '/api/prompts/{id}/versions/{n}/restore', { id, n: numberOf(version) }, { note })
      if (output.wantsJson) return await output.json(reply)
      await tellDiagnostics(output, reply.diagnostics)
      await output.words(`prompt ${id} is what version ${version} was${reply.version === undefined ? '' : `, as version ${String(reply.version)}`}`)
    })
}

type History = ApiReply<'get', '/api/prompts/{id}/versions'>
type Move = History['moves'][number]

function rowOf ({ n, at, by, note, source, from }: History['versions'][number], { labels, latest }: History): string[] {
  const shares = Object.entries(labels).flatMap(([label, target]) => {
    if (target === n) return [label]
    const share = typeof target === 'number' ? undefined : target.find(({ version }) => version === n)
    return share === undefined ? [] : [`${label} ${share.weight} %`]
  })
  const words = [note ?? '', from === undefined ? '' : `restores ${from}`, source ?? ''].filter(word => word !== '')
  return [String(n), [...shares, ...(latest === n ? ['latest'] : [])].join(', '), at, by, words.join('; ')]
}

function describeMove ({ label, from, to, at, by, note }: Move): string {
  const [before, after] = [from, to].map(target => target === null ? 'none' : wordsOf(target))
  return `${label}: ${before} → ${after}, at ${at} by ${by}${note ? `: ${note}` : ''}`
}

/** A number, `latest`, or weights as `9=5,7=95`. @throws CliError */
function targetOf (given: string): LabelTarget | 'latest' {
  if (given === 'latest') return given
  if (!given.includes('=')) return numberOf(given)
  return given.split(',').map(share => {
    const [version = '', weight = ''] = share.split('=')
    return { version: numberOf(version), weight: numberOf(weight) }
  })
}

/** @throws CliError */
function numberOf (given: string): number {
  if (!/^[1-9]\d{0,14}$/.test(given)) throw usageError(`expected a number such as 7, latest, or 9=5,7=95, got "${given}"`)
  return Number(given)
}

/** @param version a number, `latest`, or versions with weights @throws CliError, with `EXIT.ASKED` where others have to look first */
export async function moveLabel (
  api: ApiClient,
  id: string,
  label: string,
  version: LabelTarget | 'latest',
  about: { readonly note?: string | undefined, readonly override?: string | undefined } = {},
  conditions: Readonly<Record<string, string>> = {}
): Promise<History> {
  const { json } = await api.put(apiPath('api', 'prompts', id, 'labels', label), JSON.stringify({ version, ...about }), conditions)
  refuseAsked(api, json)
  return json as History
}

/** @throws CliError for a change request, since the label is where it was */
function refuseAsked ({ url }: ApiClient, reply: Json): void {
  if (!isJsonObject(reply) || !Object.hasOwn(reply, 'approvedBy')) return
  const session = textIn(reply, 'id')
  const words = `${textIn(reply, 'label')} was not moved yet: others have to look first, at change request ${session}`
  throw new CliError(EXIT.ASKED, `${words}; aps session show ${session}, or ${url}/console/sessions/${session}`)
}

/** `7`, or `9 (5 %), 7 (95 %)`. */
function wordsOf (target: LabelTarget | null | undefined): string {
  if (typeof target !== 'object' || target === null) return String(target)
  return target.map(({ version, weight }) => `${version} (${weight} %)`).join(', ')
}
