import { writeFile } from 'node:fs/promises'
import { type Command } from 'commander'
import { type Json, type JsonObject } from '../base/json.ts'
import { type ApiClient, ApiError, apiPath, listOf, objectOf, textOf } from './api-client.ts'
import { type Cli } from './context.ts'
import { usageError } from './output.ts'

interface ExportOptions { readonly output?: string, readonly label?: string }

/** The header with the token, which promptfoo reads from the same variable as `aps`. */
const TOKEN = 'Bearer {{env.APS_TOKEN}}'

/** Adds `aps export promptfoo`, which writes a configuration of promptfoo (a tool for tests of prompts). */
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

/** The JavaScript expression by which promptfoo takes the rendered prompt out of a reply. */
const RENDERED = 'typeof json.rendered_prompt === "string" ? json.rendered_prompt : JSON.stringify(json.rendered_prompt)'

const RENDER = '/api/render/prompts/{{prompt | trim | urlencode}}'

/** The promptfoo providers: one asks a model, the others only render a prompt. */
const PROVIDERS = [
  { label: 'chat', path: '/v1/chat/completions', body: { model: 'prompt:{{prompt | trim}}' }, transformResponse: 'json.choices[0].message.content' },
  { label: 'render', path: `${RENDER}?tools=stub`, body: {}, transformResponse: RENDERED },
  { label: 'render with tools', path: RENDER, body: {}, transformResponse: RENDERED }
]

/** One test case of a prompt, as the service stores it. */
interface Case {
  readonly id: string
  readonly test: JsonObject
  readonly vars: JsonObject
}

/** The test cases that are stored beside a prompt. For a prompt without any, one case with the names of its variables, to be filled in. */
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

/**
 * The configuration. The variables of a case are one object in one variable of promptfoo: at the top promptfoo would make cases of lists, read files
 * for texts such as `file://a`, and fill in braces, and its templates cannot name `user-name`.
 */
function configuration (api: ApiClient, ids: readonly string[], label: string | undefined, cases: readonly Case[]): JsonObject {
  const suffix = label === undefined ? '' : `@${label}`
  const common = { method: 'POST', headers: { 'content-type': 'application/json', ...(api.hasToken ? { authorization: TOKEN } : {}) } }
  return {
    description: `Prompts of ${api.url}`,
    // What promptfoo takes for the text of a prompt is only its id: the service has the text. A text of one line, such as team.faq, may name a file.
    prompts: ids.map(id => ({ raw: `${id}${suffix}\n`, label: id })),
    providers: PROVIDERS.filter(({ label }) => cases.some(({ test }) => providerOf(test) === label)).map(({ label, path, body, transformResponse }) => ({
      id: 'https',
      label,
      config: { url: `${api.url}${path}`, ...common, body: { ...body, variables: '{{variables | dump}}' }, transformResponse }
    })),
    tests: cases.map(({ id, test, vars }) => {
      const { vars: _vars, variables: _variables, run: _run, tools: _tools, assert, ...rest } = test
      const checks = assert === undefined ? {} : { assert: listOf(assert).map(plainText) }
      return { ...rest, ...checks, vars: { variables: vars }, prompts: [id], providers: [providerOf(test)] }
    })
  }
}

/** An assertion whose text promptfoo, which takes it for a template, renders to what it is. */
function plainText (assertion: Json): Json {
  const { value } = objectOf(assertion)
  return typeof value === 'string' ? { ...objectOf(assertion), value: value.replaceAll(/\{[{%#]|#\}|^(?:file|package)(?=:)/g, "{{ '$&' }}") } : assertion
}

/**
 * The promptfoo provider of a test case. A stored case renders the prompt with default results of its tools, unless it says that a model is
 * asked or that tools are called.
 */
function providerOf ({ run, tools, ...test }: JsonObject): string {
  if (run === 'chat' || (run === undefined && tools === undefined && Object.keys(test).length === 0)) return 'chat'
  return tools === 'live' ? 'render with tools' : 'render'
}
