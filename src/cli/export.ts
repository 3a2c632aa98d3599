import { writeFile } from 'node:fs/promises'
import { type Command } from 'commander'
import { type Json, type JsonObject, listOf, objectOf, textOf } from '../base/json.ts'
import { type ApiClient, ApiError, apiPath } from './api-client.ts'
import { type Cli } from './context.ts'
import { usageError } from './output.ts'

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
      const { stringify } = await import('yaml')
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
