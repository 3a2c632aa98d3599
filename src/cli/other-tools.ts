import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { type Command } from 'commander'
import { stringify } from 'yaml'
import { type Json, JsonError, type JsonObject, listOf, objectOf, parseJson } from '../base/json.ts'
import { type ApiClient, ApiError, apiPath } from './api-client.ts'
import { type Cli } from './context.ts'
import { type EntryFile } from './entry-files.ts'
import { CliError, EXIT, usageError } from './output.ts'

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
      const { DotpromptError } = await import('../store/dotprompt-head.ts')
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

/** promptfoo reads the same variable as `aps`. */
const TOKEN = 'Bearer {{env.APS_TOKEN}}'

export function addExportCommands (program: Command, cli: Cli): void {
  program.command('export').description('give prompts to other tools')
    .command('promptfoo').description('write a configuration of promptfoo that runs prompts by this service')
    .argument('<id...>', 'the prompts')
    .option('-o, --output <file>', 'the file to write, in place of stdout')
    .option('--label <label>', 'of the versions that this label means, such as production')
    .action(async (ids: readonly string[], { output: file, label }: { readonly output?: string, readonly label?: string }, command: Command) => {
      const { api, output } = cli.open(command)
      const cases = (await Promise.all(ids.map(async id => await casesOf(api, id, label)))).flat()
      const text = stringify(configuration(api, ids, label, cases), { lineWidth: 0 })
      if (file === undefined) return await output.text(text)
      await writeFile(file, text).catch((error: NodeJS.ErrnoException) => { throw usageError(`-o: ${file} cannot be written: ${error.code ?? error.message}`) })
      await output.words(`wrote ${file}: ${cases.length} ${cases.length === 1 ? 'case' : 'cases'}`)
    })
}

const RENDERED = 'typeof json.rendered_prompt === "string" ? json.rendered_prompt : JSON.stringify(json.rendered_prompt)'

const RENDER = '/api/render/prompts/{{prompt | trim | urlencode}}'

const PROVIDERS: ReadonlyArray<{ readonly label: string, readonly path: string, readonly body: JsonObject, readonly transformResponse: string }> = [
  { label: 'chat', path: '/v1/chat/completions', body: { model: 'prompt:{{prompt | trim}}' }, transformResponse: 'json.choices[0].message.content' },
  { label: 'render', path: `${RENDER}?tools=stub`, body: {}, transformResponse: RENDERED },
  { label: 'render with tools', path: RENDER, body: {}, transformResponse: RENDERED }
]

interface StoredCase {
  readonly id: string
  readonly test: JsonObject
  readonly vars: JsonObject
}

/** A prompt without any gets one case with the names of its variables, to be filled in. */
async function casesOf (api: ApiClient, id: string, label: string | undefined): Promise<StoredCase[]> {
  const stored = await storedCases(api, id)
  if (stored.length > 0) return stored.map(test => ({ id, test, vars: objectOf(test['vars'] ?? test['variables']) }))
  const { variables } = await api.ask('get', '/api/prompts/{id}/needs', { id, label })
  const names = variables.flatMap(({ path, required }) => required === true ? [path.split('.')[1] ?? ''] : [])
  return [{ id, test: {}, vars: Object.fromEntries([...new Set(names)].filter(name => name !== '' && name !== '*').map(name => [name, ''])) }]
}

async function storedCases (api: ApiClient, id: string): Promise<readonly JsonObject[]> {
  try {
    const reply = await api.get(apiPath('api', 'prompts', id, 'tests'))
    return listOf(Array.isArray(reply) ? reply : objectOf(reply)['tests']).map(objectOf)
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return []
    throw error
  }
}

/** Variables are one object: promptfoo expands lists, reads `file://a`, fills in braces, and cannot name `user-name`. */
function configuration (api: ApiClient, ids: readonly string[], label: string | undefined, cases: readonly StoredCase[]): JsonObject {
  const suffix = label === undefined ? '' : `@${label}`
  const common: JsonObject = { method: 'POST', headers: { 'content-type': 'application/json', ...(api.hasToken ? { authorization: TOKEN } : {}) } }
  return {
    description: `Prompts of ${api.url}`,
    // The text is only the id: the service has the prompt. One line such as team.faq may name a file for promptfoo.
    prompts: ids.map(id => ({ raw: `${id}${suffix}\n`, label: id })),
    providers: PROVIDERS.filter(({ label }) => cases.some(({ test }) => providerOf(test) === label)).map(({ label, path, body, transformResponse }) => ({
      id: 'https',
      label,
      config: { url: `${api.url}${path}`, ...common, body: { ...body, variables: '{{variables | dump}}' }, transformResponse }
    })),
    tests: cases.map(({ id, test, vars }) => {
      const { vars: _vars, variables: _variables, run: _run, tools: _tools, assert, ...rest } = test
      const checks: JsonObject = assert === undefined ? {} : { assert: listOf(assert).map(plainText) }
      return { ...rest, ...checks, vars: { variables: vars }, prompts: [id], providers: [providerOf(test)] }
    })
  }
}

/** promptfoo takes an assertion for a template. */
function plainText (assertion: Json): Json {
  const { value } = objectOf(assertion)
  return typeof value === 'string' ? { ...objectOf(assertion), value: value.replaceAll(/\{[{%#]|#\}|^(?:file|package)(?=:)/g, "{{ '$&' }}") } : assertion
}

/** Default results of tools, unless the case asks a model or calls tools. */
function providerOf ({ run, tools, ...test }: JsonObject): string {
  if (run === 'chat' || (run === undefined && tools === undefined && Object.keys(test).length === 0)) return 'chat'
  return tools === 'live' ? 'render with tools' : 'render'
}
