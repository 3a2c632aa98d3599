import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { type Command } from 'commander'
import { type Json, JsonError, parseJson } from '../base/json.ts'
import { type Cli } from './context.ts'
import { CliError, EXIT, usageError } from './output.ts'
import { type EntryFile } from './entry-files.ts'

interface ImportOptions { readonly output?: string, readonly overwrite?: boolean, readonly publish?: boolean }

export function addImportCommands (program: Command, cli: Cli): void {
  const group = program.command('import').description('take over prompts of other tools')
  group.command('dotprompt').description('write .prompt files as YAML')
    .argument('<file...>', 'files, or folders of them; the id of a file is its path below its folder')
    .requiredOption('-o, --output <folder>', 'the folder of a service')
    .option('--overwrite', 'replace files that are there')
    .action(async (paths: readonly string[], { output: folder = '', overwrite = false }: ImportOptions, command: Command) => {
      const { output } = cli.open(command)
      const { readDotprompt } = await import('../store/read-dotprompt.ts')
      const { writeEntries } = await import('./entry-files.ts')
      const { DotpromptError } = await import('../store/dotprompt-error.ts')
      const entries: EntryFile[] = []
      const wrong: string[] = []
      for (const { file, id } of (await Promise.all(paths.map(promptFiles))).flat()) {
        try {
          entries.push({ kind: 'templates', id, value: readDotprompt(await readFile(file, 'utf8'), file).prompt })
        } catch (error) {
          if (!(error instanceof DotpromptError)) throw error
          wrong.push(`${file}:${error.place.line}:${error.place.column}: ${error.message}${error.hint === undefined ? '' : `; ${error.hint}`}`)
        }
      }
      const files = await writeEntries(folder, entries, overwrite)
      await output.rows(['file', 'id'], files.map((file, index) => [join(folder, file), entries[index]?.id ?? '']))
      for (const line of wrong) await output.words(line)
      if (wrong.length > 0) throw new CliError(EXIT.NO, `${wrong.length} of ${wrong.length + files.length} files could not be taken over`)
    })

  group.command('langfuse').description('take over an export of Langfuse, with its versions and labels')
    .argument('<file...>', 'a JSON list of versions of prompts; - reads stdin')
    .option('-o, --output <folder>', 'write files into the folder of a service')
    .option('--overwrite', 'replace files that are there')
    .option('--publish', 'publish to the service, which numbers the versions itself')
    .action(async (paths: readonly string[], { output: folder, overwrite = false, publish = false }: ImportOptions, command: Command) => {
      const [{ entriesOf, publishImported }, { readLangfuse, versionsIn }, { writeEntries }] = await Promise.all([
        import('./import-langfuse.ts'), import('./langfuse-prompts.ts'), import('./entry-files.ts')
      ])
      if ((folder === undefined) !== publish) throw usageError('expected either -o with a folder, or --publish')
      const { api, output } = publish ? cli.open(command) : { ...cli.open(command), api: undefined }
      const found = await Promise.all(paths.map(async path => {
        const versions = versionsIn(await readJson(path, cli))
        if (versions === undefined) throw usageError(`${path}: expected a list of prompts, as Langfuse exports them`)
        return versions
      }))
      const { prompts, remarks, problems } = readLangfuse(found.flat())
      if (problems.length > 0) {
        for (const problem of problems) await output.words(problem)
        throw new CliError(EXIT.NO, `nothing was imported: ${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}`)
      }
      if (folder !== undefined) await writeEntries(folder, prompts.flatMap(entriesOf), overwrite)
      const rows = api === undefined
        ? prompts.map(({ id, versions, labels }) => ({ id, labels, versions: versions.map(({ n }) => n) }))
        : await publishImported(api, prompts)
      await output.rows(['id', 'versions', 'labels'], rows.map(({ id, versions, labels }) => [
        id,
        versions.join(','),
        Array.from(labels, ([label, n]) => `${label}=${n}`).join(',')
      ]))
      for (const remark of remarks) await output.words(remark)
    })
}

async function promptFiles (path: string): Promise<ReadonlyArray<{ readonly file: string, readonly id: string }>> {
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => { throw usageError(`${path} cannot be read: ${error.code ?? error.message}`) })
  const root = stats.isDirectory() ? path : dirname(path)
  const files = stats.isDirectory() ? (await readdir(path, { recursive: true })).filter(file => file.endsWith('.prompt')).sort() : [basename(path)]
  return files.map(file => {
    const segments = relative(root, join(root, file)).split(sep)
    const name = basename(segments.pop() ?? '', '.prompt').replace(/^_(?=.)/, '')
    return { file: join(root, file), id: [...segments, name].join('.') }
  })
}

async function readJson (path: string, cli: Cli): Promise<Json> {
  try {
    return parseJson(path === '-' ? await text(cli) : await readFile(path, 'utf8'))
  } catch (error) {
    if (error instanceof JsonError) throw usageError(`${path}: ${error.message}`)
    throw usageError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`)
  }
}

async function text ({ stdin }: Cli): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of stdin) pieces.push(Buffer.from(piece as Buffer))
  return Buffer.concat(pieces).toString('utf8')
}
