import { objectOf } from '../base/json.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Command } from 'commander'
import { type Cli, openLines } from './context.ts'
import { CliError, EXIT, type Output, usageError } from './output.ts'
import { type CliKind, entryTextOf, pathOf, publish, storedText, tagOf, tellDiagnostics } from './entries.ts'
import { draftOf } from './entry-files.ts'

/**
 * Opens an entry in the user's editor and stores the result, unless somebody else has changed the entry meanwhile. If the service refuses
 * the text, the file with it is kept.
 * @throws CliError
 */
export async function editEntry (kind: CliKind, id: string, cli: Cli, command: Command): Promise<void> {
  const { api, output } = cli.open(command)
  const { json, etag } = await api.getTagged(pathOf(kind, id))
  if (etag === '') throw new CliError(EXIT.NO, `${kind.noun} ${id} is not registered by itself: edit the extension that brings it`)
  const { text, extension } = draftOf(kind, kind.registeredIn(json))
  // Private: other users of this machine cannot read the draft.
  const folder = await mkdtemp(join(tmpdir(), 'aps-'))
  const file = join(folder, `${id.replaceAll(/[^\w.-]/g, '_').slice(0, 100)}${extension}`)
  await writeFile(file, text, { mode: 0o600 })
  for (;;) {
    await openEditor(file, cli)
    try {
      const entry = entryTextOf(kind, await readFile(file, 'utf8'), extension)
      if (`"${tagOf(kind, storedText(entry))}"` === etag) {
        await rm(folder, { recursive: true })
        return await output.words('nothing has changed')
      }
      const published = await publish(api, kind, id, entry, { conditions: { 'if-match': etag } })
      await rm(folder, { recursive: true })
      if (output.wantsJson) return await output.json(published.json)
      await tellDiagnostics(output, objectOf(published.json)['diagnostics'])
      return await output.words(`replaced ${kind.noun} ${id}`)
    } catch (error) {
      if (!(error instanceof Error)) throw error
      if (await wantsAgain(error, output, cli)) continue
      throw new CliError(error instanceof CliError ? error.exitCode : EXIT.NO, `${error.message}; what you wrote is in ${file}`)
    }
  }
}

async function openEditor (file: string, { environment, signal }: Cli): Promise<void> {
  const editor = environment['VISUAL'] || environment['EDITOR'] || 'vi'
  // $EDITOR may contain arguments, so a shell reads it, as git does.
  const child = spawn('sh', ['-c', `${editor} "$1"`, editor, file], { stdio: 'inherit', env: environment, signal })
  const [code] = await once(child, 'exit') as [number | null]
  if (code !== 0) throw usageError(`the editor has ended with ${String(code)}, and nothing was stored; what you wrote is in ${file}`)
}

/** `false` if there is no terminal to ask at. */
async function wantsAgain (error: Error, output: Output, cli: Cli): Promise<boolean> {
  if (output.terminal === undefined) return false
  await output.words(error.message)
  const lines = openLines(cli, output)
  try {
    return /^(?:y|yes)$/i.test((await lines.next('edit it again? y or n: '))?.trim() ?? '')
  } finally {
    lines.close()
  }
}
