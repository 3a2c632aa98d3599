import { writeFile } from 'node:fs/promises'
import { type Command } from 'commander'
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { type ApiClient, apiPath } from '../api-client.ts'
import { ApiError } from '../api-error.ts'
import { type Cli } from '../cli.ts'
import { usageError } from '../exit-codes.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'

interface ExportOptions { readonly output?: string, readonly label?: string }

/** Where the token of the service is, for promptfoo as for `aps`. */
const TOKEN = 'Bearer {{env.APS_TOKEN}}'

/** Adds `aps export promptfoo`. */
export function addExportCommands (program: Command, cli: Cli): void {
  program.command('export').description('give prompts to other tools')
    .command('promptfoo').description('write a configuration of promptfoo that runs prompts by this service')
    .argument('<id...>', 'the prompts')
    .option('-o, --output <file>', 'the file to write, in place of stdout')
    .option('--label <label>', 'of the versions that this label means, such as production')
    .action(async (ids: readonly string[], { output: file, label }: ExportOptions, command: Command) => {
      const { api, output } = cli.open(command)
      const cases = (await Promise.all(ids.map(async id => await casesOf(api, id, label)))).flat()
      const { stringify } = await import('yaml')
      const text = stringify(configuration(api, ids, label, cases), { lineWidth: 0 })
      if (file === undefined) return await output.text(text)
      await writeFile(file, text).catch((error: NodeJS.ErrnoException) => { throw usageError(`-o: ${file} cannot be written: ${error.code ?? error.message}`) })
      await output.words(`wrote ${file}: ${cases.length} ${cases.length === 1 ? 'case' : 'cases'}`)
    })
}

/** Providers that render a prompt, and ask no model. */
const RENDERS = [{ label: 'render', query: '?tools=stub' }, { label: 'render with tools', query: '' }]

/** The expression that takes the rendered prompt from a reply. */
const RENDERED = 'typeof json.rendered_prompt === "string" ? json.rendered_prompt : JSON.stringify(json.rendered_prompt)'

/** One case of a prompt, as the service keeps it. */
interface Case {
  readonly id: string
  readonly test: JsonObject
  readonly vars: JsonObject
}

/** The cases that are stored beside a prompt; of one without, a case to fill in. */
async function casesOf (api: ApiClient, id: string, label: string | undefined): Promise<Case[]> {
  const stored = await storedCases(api, id)
  if (stored.length > 0) return stored.map(test => ({ id, test, vars: objectOf(test['vars'] ?? test['variables']) }))
  const needs = objectOf(await api.get(`${apiPath('api', 'prompts', id, 'needs')}${label === undefined ? '' : `?label=${encodeURIComponent(label)}`}`))
  const names = listOf(needs['variables']).map(objectOf).flatMap(({ path, required }) => required === true ? [textOf(path).split('.')[1] ?? ''] : [])
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

function configuration (api: ApiClient, ids: readonly string[], label: string | undefined, cases: readonly Case[]): JsonObject {
  const variables = variablesOf(cases)
  const suffix = label === undefined ? '' : `@${label}`
  const common = { method: 'POST', headers: { 'content-type': 'application/json', ...(api.hasToken ? { authorization: TOKEN } : {}) } }
  return {
    description: `Prompts of ${api.url}`,
    // The text of a prompt is its id here: the service has the prompt.
    prompts: ids.map(id => ({ raw: `${id}${suffix}`, label: id })),
    providers: [
      {
        id: 'https',
        label: 'chat',
        config: {
          url: `${api.url}/v1/chat/completions`,
          ...common,
          body: { model: 'prompt:{{prompt}}', variables },
          transformResponse: 'json.choices[0].message.content'
        }
      },
      ...RENDERS.filter(({ label }) => cases.some(({ test }) => providerOf(test) === label)).map(({ label, query }) => ({
        id: 'https',
        label,
        config: { url: `${api.url}/api/render/prompts/{{prompt}}${query}`, ...common, body: { variables }, transformResponse: RENDERED }
      }))
    ],
    tests: cases.map(({ id, test, vars }) => {
      const { vars: _vars, variables: _variables, run: _run, tools: _tools, ...rest } = test
      return { ...rest, vars, prompts: [id], providers: [providerOf(test)] }
    })
  }
}

/** A case that is stored renders the prompt, with its tools' defaults, unless it says that it asks the model, or that tools are called. */
function providerOf ({ run, tools, ...test }: JsonObject): string {
  if (run === 'chat' || (run === undefined && tools === undefined && Object.keys(test).length === 0)) return 'chat'
  return tools === 'live' ? 'render with tools' : 'render'
}

/** Every variable of the cases, by name. A text goes as it is; anything else as the JSON that promptfoo reads again. */
function variablesOf (cases: readonly Case[]): JsonObject {
  const names = new Map<string, boolean>()
  for (const { vars } of cases) for (const [name, value] of Object.entries(vars)) names.set(name, (names.get(name) ?? false) || isStructure(value))
  const placeholder = (name: string, isJson: boolean) => isJson ? `{{(${name} if ${name} is string else ${name} | dump) | safe}}` : `{{${name}}}`
  return Object.fromEntries(Array.from(names, ([name, isJson]) => [name, placeholder(name, isJson)]))
}

function isStructure (value: Json): boolean {
  return Array.isArray(value) || isJsonObject(value)
}
