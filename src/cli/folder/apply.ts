import { readFile, stat } from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { type Json } from '../../base/json.ts'
import { type ApiClient } from '../api-client.ts'
import { type EntryKind } from '../entries/entry-kinds.ts'
import { type EntryText, entryTextOf } from '../entries/entry-text.ts'
import { publish, tellDiagnostics } from '../entries/publish.ts'
import { CliError, EXIT, usageError } from '../exit-codes.ts'
import { objectOf, textOf } from '../json-members.ts'
import { type Output } from '../output.ts'
import { readFolder } from './read-folder.ts'

/**
 * Publishes all entries of one kind in a file or a folder. If the service refuses an entry, the others are still published.
 * @param id the id of the entry, for a file whose path does not show the id
 * @throws CliError at the end, if any entry was refused
 */
export async function applyEntries (
  kind: EntryKind,
  path: string,
  id: string | undefined,
  { api, output }: { readonly api: ApiClient, readonly output: Output }
): Promise<void> {
  const replies: Json[] = []
  let refused = 0
  for (const [each, entry] of await entriesOf(kind, path, id, output)) {
    try {
      const { json, isNew } = await publish(api, kind, each, entry)
      replies.push({ ...objectOf(json), outcome: isNew ? 'created' : 'replaced' })
      if (output.wantsJson) continue
      await tellDiagnostics(output, objectOf(json)['diagnostics'])
      await output.words(`${isNew ? 'created' : 'replaced'} ${kind.noun} ${textOf(objectOf(json)['id'])}`)
    } catch (error) {
      // An error that is not about this entry, such as a missing right or an unreachable service, would make every entry fail: it ends the command.
      if (!(error instanceof CliError) || error.exitCode !== EXIT.NO) throw error
      refused++
      await output.words(`not ${each}: ${error.message}`)
    }
  }
  if (output.wantsJson) await output.json(replies)
  if (refused > 0) throw new CliError(EXIT.NO, `${refused} of them were refused`)
}

async function entriesOf (
  kind: EntryKind,
  path: string,
  id: string | undefined,
  output: Output
): Promise<ReadonlyArray<readonly [id: string, entry: EntryText]>> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => { throw usageError(`${path} cannot be read: ${error.code ?? error.message}`) })
  if (found.isFile()) return [[id ?? idIn(kind, resolve(path)), entryTextOf(kind, await readFile(path, 'utf8'), extname(path))]]
  if (id !== undefined) throw usageError('--id is for a file: a folder has several')
  const whole = resolve(path)
  const hasOne = await stat(join(whole, kind.key)).then(stats => stats.isDirectory(), () => false)
  if (!hasOne && basename(whole) !== kind.key) throw usageError(`${path}: expected a folder called ${kind.key}, or with one`)
  const { entries, problems } = await readFolder(hasOne ? whole : dirname(whole), message => { void output.words(`warning: ${message}`) }, [kind])
  if (problems.length > 0) throw usageError(problems.join('; '))
  return [...entries.values()].map(({ id: each, entry }) => [each, entry])
}

/**
 * The id of the entry in a file, from the file's path below the folder of a kind: `agents/team/desk.yaml` is `team.desk`. For a file that is
 * not below such a folder, the name of the file is the id, and for a SKILL.md the name of its folder.
 */
function idIn ({ key, file }: EntryKind, path: string): string {
  const place = basename(path) === file ? dirname(path) : path.slice(0, path.length - extname(path).length)
  const segments = place.split(/[/\\]/)
  const start = segments.lastIndexOf(key)
  return start === -1 || start === segments.length - 1 ? segments.at(-1) as string : segments.slice(start + 1).join('.')
}
