import { createTwoFilesPatch, OMIT_HEADERS } from 'diff'
import { resolve } from 'node:path'
import { isJsonObject, type Json, type JsonObject, listOf, objectOf, textOf } from '../base/json.ts'
import { type ApiClient, apiPath } from './api-client.ts'
import { type Cli } from './context.ts'
import { CliError, type Output } from './output.ts'

/** In ms, for the search for the differences of two texts. */
const TIMEOUT = 2000

interface WatchedPrompt { readonly prompt: string, readonly variables: () => Promise<JsonObject> }

/** Returns when the service ends. */
export async function renderChanges (url: string, watched: WatchedPrompt | undefined, output: Output, cli: Cli): Promise<void> {
  const api = cli.connect(url, cli.environment['APS_TOKEN'] ?? '')
  let last = watched === undefined ? '' : await tryRender('', watched, api, output)
  for await (const { name, data } of api.events('/api/events')) {
    if (name !== 'changed' || data === undefined) continue
    await tellProblems(api, output)
    if (watched !== undefined) last = await tryRender(last, watched, api, output)
  }
}

/** @param last `''` for none @returns `last` if the prompt cannot be rendered */
async function tryRender (last: string, { prompt, variables }: WatchedPrompt, api: ApiClient, output: Output): Promise<string> {
  try {
    const { rendered_prompt: rendered = '' } = objectOf(await api.post(apiPath('api', 'render', 'prompts', prompt), { variables: await variables() }))
    const text = textIn(rendered)
    if (last === '') await output.text(text)
    else if (text !== last) await output.diff(patchOf(prompt, last, text))
    return text
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    await output.words(error.message)
    return last
  }
}

function patchOf (prompt: string, before: string, after: string): string {
  const options = { context: 3, headerOptions: OMIT_HEADERS, timeout: TIMEOUT }
  return createTwoFilesPatch(prompt, prompt, before, after, undefined, undefined, options) ?? after
}

function textIn (rendered: Json): string {
  if (typeof rendered === 'string') return rendered.endsWith('\n') ? rendered : `${rendered}\n`
  return listOf(rendered).map(message => isJsonObject(message) ? `[${textOf(message['role'])}]\n${textOf(message['content'])}\n` : '').join('')
}

async function tellProblems (api: ApiClient, output: Output): Promise<void> {
  for (const { key, cursor, diagnostics } of (await api.list('/api/status/entries', { limit: '100' })).map(objectOf)) {
    for (const { severity, message, line, column } of listOf(diagnostics).map(objectOf)) {
      if (severity === 'error') await output.words(`${textOf(key) || textOf(cursor)}:${String(line)}:${String(column)}: ${textOf(message)}`)
    }
  }
}

/** Serving a folder changes the working directory, so the path after `@` is made absolute. */
export function wholeFileName (args: string | undefined): string | undefined {
  return args?.startsWith('@') === true && args !== '@-' ? `@${resolve(args.slice(1))}` : args
}
