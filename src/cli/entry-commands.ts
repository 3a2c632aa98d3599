import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { stringify } from 'yaml'
import { type Json, type JsonObject, objectOf, parseJson, stringifyJson, textOf } from '../base/json.ts'
import { pluralOf, withArticle } from '../base/text.ts'
import type { ApiReply } from './api-client.ts'
import { type Cli, openLines, readParameters } from './context.ts'
import {
  ENTRY_KINDS, type CliKind, type EntryText, entryTextOf, idOf, type IdOptions, pathOf, publish, readEntryText, storedText, tagOf, tellDiagnostics, valueTextOf,
  withId
} from './entries.ts'
import { CliError, EXIT, type Output, usageError } from './output.ts'

interface GetOptions extends IdOptions { readonly output: 'yaml' | 'json' | 'raw' }

export function addEntryGroups (program: Command, cli: Cli): ReadonlyMap<CliKind, Command> {
  const promptsFirst = ENTRY_KINDS.toSorted((one, other) => Number(other.command === 'prompt') - Number(one.command === 'prompt'))
  return new Map(promptsFirst.map(kind => [kind, addEntryGroup(program, kind, cli)]))
}

function addEntryGroup (program: Command, kind: CliKind, cli: Cli): Command {
  const group = program.command(kind.command).description(`list, read and publish ${pluralOf(kind.noun)}`)
  if (kind.alias !== undefined) group.alias(kind.alias)

  group.command('list').description(`list ${pluralOf(kind.noun)}`)
    .option('--prefix <text>', 'only ids that begin with this')
    .action(async ({ prefix }: { readonly prefix?: string }, command: Command) => { await list(kind, prefix, command, cli) })

  withId(group.command('get').description(`print ${withArticle(kind.noun)} as it is registered`), kind)
    .addOption(new Option('-o, --output <form>', 'raw: a text as it is').choices(['yaml', 'json', 'raw']).default('yaml'))
    .action(async (id: string | undefined, options: GetOptions, command: Command) => {
      const { api, output } = cli.open(command)
      const reply = await api.get(pathOf(kind, idOf(kind, id, options)))
      if (output.wantsJson) return await output.json(reply)
      await output.text(await inForm(kind.registeredIn(reply), options.output))
      if (kind.key !== 'environs') await tellDiagnostics(output, objectOf(reply)['diagnostics'])
    })

  const adding = withId(group.command('add').description(`publish ${withArticle(kind.noun)}, in place of what is there`), kind)
    .requiredOption('-d, --data <file>', kind.takesText ? 'JSON, YAML or a text; - for stdin' : 'JSON or YAML; - for stdin')
  if (kind.key === 'templates') adding.option('--note <text>', 'what has changed, kept with its version')
  adding.action(async (id: string | undefined, options: IdOptions & { readonly data: string, readonly note?: string }, command: Command) => {
    await add(kind, idOf(kind, id, options), await readEntryText(kind, options.data, cli.stdin, cli.signal), command, cli, options.note)
  })

  withId(group.command('edit').description(`change ${withArticle(kind.noun)} in $EDITOR; what somebody else has changed meanwhile is not overwritten`), kind)
    .action(async (id: string | undefined, options: IdOptions, command: Command) => {
      await editEntry(kind, idOf(kind, id, options), cli, command)
    })

  withId(group.command('remove').description(`withdraw ${withArticle(kind.noun)}`), kind)
    .action(async (id: string | undefined, options: IdOptions, command: Command) => {
      const { api, output } = cli.open(command)
      const named = idOf(kind, id, options)
      await api.delete(pathOf(kind, named))
      await output.words(`removed ${kind.noun} ${named}`)
    })

  if (kind.key === 'environs') {
    group.command('set').description('publish a shared variable: JSON if it is that, else a text')
      .argument('<id>', 'the shared variable')
      .argument('<value>', 'its value')
      .action(async (id: string, value: string, _options: object, command: Command) => { await add(kind, id, valueTextOf(value), command, cli) })
  }
  return group
}

async function list (kind: CliKind, prefix: string | undefined, command: Command, cli: Cli): Promise<void> {
  const { api, output } = cli.open(command)
  // There may be millions of shared variables, and the service reads details one by one.
  const hasDetail = kind.key !== 'environs' || output.wantsJson
  const query = {
    limit: '1000',
    type: kind.key === 'extensions' ? 'all' : undefined,
    detail: hasDetail ? 'true' : undefined,
    prefix
  }
  const rows = await api.list(`/api/${kind.name}`, query)
  if (output.wantsJson) return await output.json(rows)
  await output.rows(kind.columns, rows.map(row => typeof row === 'string' ? [row] : kind.columns.map(column => cellOf(objectOf(row)[column]))))
}

async function add (kind: CliKind, id: string, entry: EntryText, command: Command, cli: Cli, note?: string): Promise<void> {
  const { api, output } = cli.open(command)
  const { json, isNew } = await publish(api, kind, id, entry, { about: note === undefined ? {} : { note } })
  if (output.wantsJson) return await output.json(json)
  if (note !== undefined && objectOf(json)['version'] === undefined) await output.words('the note is not kept: the service records no versions')
  await tellPublished(output, kind, objectOf(json), isNew)
}

async function tellPublished (output: Output, kind: CliKind, { id = '', diagnostics }: JsonObject, isNew: boolean): Promise<void> {
  await tellDiagnostics(output, diagnostics)
  await output.words(`${isNew ? 'created' : 'replaced'} ${kind.noun} ${textOf(id)}`)
}

/** `raw`: a text without quotes; JSON for values that are no text. */
async function inForm (value: Json, form: GetOptions['output']): Promise<string> {
  if (form === 'raw') {
    const { userPrompt } = objectOf(value)
    const text = typeof value === 'string' ? value : userPrompt
    if (typeof text === 'string') return text
  }
  if (form !== 'yaml') return stringifyJson(value, 2)
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })
}

function cellOf (value: Json | undefined): string {
  return typeof value === 'number' ? String(value) : textOf(value)
}

export function addNeedsCommand (group: Command, kind: CliKind, cli: Cli): void {
  withId(group.command('needs').description('print the variables, shared variables, tools and partials that a prompt needs'), kind)
    .action(async (id: string | undefined, options: IdOptions, command: Command) => {
      const { api, output } = cli.open(command)
      const needs = await api.ask('get', '/api/prompts/{id}/needs', { id: idOf(kind, id, options) })
      if (output.wantsJson) return await output.json(needs)
      await output.rows(['what', 'name', 'state', 'place'], rowsOf(needs))
      if (!needs.complete) await output.words('there is more in it than was looked at')
    })
}

export function addUsedByCommand (group: Command, kind: CliKind, cli: Cli): void {
  withId(group.command('used-by').description(`list the prompts that a change of ${withArticle(kind.noun)} would reach`), kind)
    .action(async (id: string | undefined, options: IdOptions, command: Command) => {
      const { api, output } = cli.open(command)
      const users = await api.list(`${pathOf(kind, idOf(kind, id, options))}/used-by`, { limit: '500' }) as ApiReply<'get', '/api/prompts/{id}/used-by'>
      if (output.wantsJson) return await output.json(users)
      await output.rows(['id', 'how', 'through'], users.map(({ id: user, direct, through }) => [user, direct ? 'direct' : 'through', through.join(', ')]))
    })
}

type PromptNeeds = ApiReply<'get', '/api/prompts/{id}/needs'>

function rowsOf ({ variables, environs, caller, tools, partials }: PromptNeeds): string[][] {
  const linkState = (id: string | undefined) => id === undefined ? 'missing' : 'registered'
  return [
    ...variables.map(need => ['variable', need.path, variableState(need), placeOf(need)]),
    ...environs.map(need => ['environ', need.path, need.registered ? 'registered' : 'missing', placeOf(need)]),
    ...caller.map(need => ['caller', need.path, need.use, placeOf(need)]),
    ...tools.map(need => ['tool', need.id ?? need.name, linkState(need.id), placeOf(need)]),
    ...partials.map(need => ['partial', need.id ?? need.name, linkState(need.id), placeOf(need)])
  ]
}

type Need = PromptNeeds['variables'][number]

function variableState ({ required, default: standard }: Need): string {
  if (required) return 'required'
  return standard === undefined ? 'optional' : `default ${stringifyJson(standard)}`
}

function placeOf ({ in: partial, messageIndex, part, line, column }: Pick<Need, 'in' | 'messageIndex' | 'part' | 'line' | 'column'>): string {
  if (line === undefined) return ''
  const ofMessage = messageIndex === undefined ? '' : `[${messageIndex}]:`
  const ofPart = part === undefined ? '' : `[${part}]:`
  return `${partial === undefined ? '' : `${partial}:`}${ofMessage}${ofPart}${line}:${column}`
}

export function addCallCommand (group: Command, cli: Cli): void {
  group.command('call').description('call a tool by hand, and print what it gives').argument('<id>', 'the tool')
    .argument('[arguments...]', 'name=value: JSON if it is that, else a text; name=@file or name=@- for stdin')
    .option('-v, --args <object>', 'arguments as JSON or YAML, @file or @- for stdin')
    .action(async (id: string, given: readonly string[], { args }: { readonly args?: string }, command: Command) => {
      const { api, output } = cli.open(command)
      const typed = given.filter(each => /^[^=]+=(?!@)/.test(each)).map(typedArgument)
      const read = await readParameters({ param: given.filter(each => !/^[^=]+=(?!@)/.test(each)), args }, cli.stdin, cli.signal)
      const reply = await api.ask('post', '/api/tools/{id}/call', { id }, { arguments: Object.fromEntries([...Object.entries(read), ...typed]) })
      if (output.wantsJson) return await output.json(reply)
      const { value = null, outcome, durationMs, error } = reply
      await output.text(typeof value === 'string' ? value : stringifyJson(value, 2))
      await output.words(`${outcome}, ${durationMs} ms`)
      if (outcome === 'failed') throw new CliError(EXIT.NO, `${error?.message} (${error?.code}); what is printed stands in for it`)
    })
}

function typedArgument (given: string): [name: string, value: Json] {
  const equals = given.indexOf('=')
  if (equals < 1) throw usageError(`expected name=value, got "${given}"`)
  const { text, type } = valueTextOf(given.slice(equals + 1))
  return [given.slice(0, equals), type === 'text/plain' ? text : parseJson(text)]
}

/**
 * Opens an entry in the user's editor and stores the result, unless somebody else has changed the entry meanwhile. If the service refuses
 * the text, the file with it is kept.
 * @throws CliError
 */
async function editEntry (kind: CliKind, id: string, cli: Cli, command: Command): Promise<void> {
  const { api, output } = cli.open(command)
  const { json, etag } = await api.getTagged(pathOf(kind, id))
  if (etag === '') throw new CliError(EXIT.NO, `${kind.noun} ${id} is not registered by itself: edit the extension that brings it`)
  const { draftOf } = await import('./entry-files.ts')
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
