import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { constants } from 'node:os'
import { extname, resolve } from 'node:path'
import { chdir, env, loadEnvFile } from 'node:process'
import { emitKeypressEvents } from 'node:readline'
import { type Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseEnv } from 'node:util'
import { type JsonObject } from '../base/json.ts'
import { configSchema } from '../config/config-schema.ts'
import { isNearly } from '../base/near-matches.ts'
import { nodeHttp } from '../runtime/http-modules.ts'
import { memoryFlags } from '../workers/memory-flags.ts'
import { type ApiClient, type ApiReply } from './api-client.ts'
import { type Cli, type GivenParameters, readParameters } from './context.ts'
import { CliError, EXIT, type Output, usageError } from './output.ts'

export interface DevOptions extends GivenParameters { readonly prompt?: string }

/** Serves a folder, and renders a prompt again whenever something is saved. Returns when the service ends. @throws CliError */
export async function develop (folder: string, { prompt, param, args: given }: DevOptions, output: Output, cli: Cli): Promise<void> {
  // Serving a folder changes the working directory.
  const args = given?.startsWith('@') === true && given !== '@-' ? `@${resolve(given.slice(1))}` : given
  const url = await serveHere(folder, output)
  if (url === undefined) return
  if (cli.environment['CONSOLE'] !== 'off') {
    await listenToKeys(cli.stdin, `${url}/console/prompts${prompt === undefined ? '' : `/${encodeURIComponent(prompt)}`}`, output)
  }
  const variables = () => readParameters({ param, args }, cli.stdin, cli.signal)
  await renderChanges(url, prompt === undefined ? undefined : { prompt, variables }, output, cli)
}

/** In a child process if Node needs other flags for its memory. @returns its address, or `undefined` if it did not become ready @throws CliError */
export async function serveHere (folder: string, output: Output): Promise<string | undefined> {
  const flags = memoryFlags()
  return flags.length > 0 ? await serveInChild(flags) : await serveFolder(folder, output)
}

const CHILD = 'APS_SERVES_FOR'

/** For flags that Node reads only at its start. If this process dies, the channel closes, and the child ends, too. */
async function serveInChild (flags: readonly string[]): Promise<never> {
  const [program, ...rest] = process.argv.slice(1) as [string, ...string[]]
  const child = spawn(process.execPath, [...process.execArgv, ...flags, program, ...rest], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [CHILD]: String(process.pid) },
    // A group of its own: Ctrl-C goes to a whole group, and a second signal would not wait for requests.
    detached: process.platform !== 'win32'
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => { child.kill(signal) })
  const [code, signal] = await once(child, 'exit') as [number | null, NodeJS.Signals | null]
  process.exit(code ?? (signal === null ? 1 : 128 + constants.signals[signal]))
}

/** Does nothing unless `serveInChild` has started this process. */
function endWithParent (): void {
  if (process.env[CHILD] === undefined || process.channel === undefined) return
  delete process.env[CHILD]
  process.once('disconnect', () => { process.kill(process.pid, 'SIGTERM') })
  // The channel to the parent would keep the process alive.
  process.channel.unref()
}

/** All kinds but tests of prompts; a folder needs at least one to be served. */
const KINDS = ['extensions', 'templates', 'environs', 'tools', 'agents', 'skills', 'plans']

const TRY = 'try: curl -s URL/api/render/prompts/greet -H "content-type: application/json" -d \'{"variables":{"name":"Ada"}}\''

/** Others read them from `.env`: this command line, OpenTelemetry, and secrets of tools, which the operator names. */
const OTHERS = /^(?:APS_|OTEL_|TOOL_SECRET_)/

/** In ms. */
const PATIENCE = 15_000

/** The process goes on serving. @returns `undefined` if not ready in time @throws CliError with nothing to serve, or a taken address */
async function serveFolder (folder: string, output: Output): Promise<string | undefined> {
  endWithParent()
  if (!existsSync(folder)) throw usageError(`${folder}: expected a folder, got nothing`)
  // File names in `.env` are relative to the folder.
  chdir(folder)
  if (existsSync('.env')) {
    loadEnvFile('.env')
    for (const line of misspelt(Object.keys(parseEnv(readFileSync('.env', 'utf8'))))) await output.words(line)
  }
  if (!env['STORE_DIR'] && !env['REDIS_URL']) {
    const hasKind = KINDS.some(kind => existsSync(kind))
    if (!hasKind) throw usageError(`${folder}: expected one of the folders ${KINDS.join(', ')}; npx ai-prompt-shell init writes an example`)
    env['STORE_DIR'] = '.'
  }
  env['LOG_LEVEL'] ||= 'warn'
  const host = env['HOST'] ||= '127.0.0.1'
  const port = env['PORT'] = await freePort(host, env['PORT'] || '8080')
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  await import(new URL(`../main${extname(import.meta.url)}`, import.meta.url).href)
  if (!await becomesReady(url)) {
    await output.words(`not ready yet at ${url}: the log says why, and the service goes on trying`)
    return undefined
  }
  await output.text(`serves ${env['STORE_DIR'] || 'Redis'} at ${url}`)
  if (env['CONSOLE'] !== 'off') await output.text(`console: ${url}/console/`)
  await output.text(`API: ${url}/docs`)
  await output.text(modelLine())
  if (env['STORE_DIR'] === 'examples' && existsSync('examples/templates/greet.yaml')) await output.text(TRY.replace('URL', url))
  return url
}

/** Only the host of an address is shown, as the rest may contain secrets. */
function modelLine (): string {
  const address = env['LLM_BASE_URL'] || ''
  if (address === 'builtin:script') return `the model is a SCRIPT: ${env['LLM_SCRIPT_FILE'] ?? ''}`
  if (address === '') return env['LLM_PROVIDERS_FILE'] ? `models: ${env['LLM_PROVIDERS_FILE']}` : 'no model answers chats: set LLM_BASE_URL'
  return `the model is at ${URL.canParse(address) && new URL(address).host !== '' ? new URL(address).host : address}`
}

async function becomesReady (url: string): Promise<boolean> {
  for (const deadline = performance.now() + PATIENCE; performance.now() < deadline; await sleep(50)) if (await isReady(url)) return true
  return false
}

function misspelt (names: readonly string[]): readonly string[] {
  const known = Object.keys(configSchema.properties)
  return names.filter(name => !known.includes(name) && !OTHERS.test(name)).flatMap(name => {
    const meant = known.filter(each => isNearly(name, each))
    return meant.length === 0 ? [] : [`.env: ${name} is no variable of the service: perhaps ${meant.join(' or ')} is meant`]
  })
}

/** A taken port is found before the service opens anything; other faults are the service's to tell. @throws CliError */
async function freePort (host: string, wanted: string): Promise<string> {
  const server = createServer()
  try {
    await once(server.listen(Number(wanted), host), 'listening')
    return String((server.address() as AddressInfo).port)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return wanted
    throw new CliError(EXIT.NO, `something listens at ${host}:${wanted} already: stop it, or choose another PORT`)
  } finally {
    server.close()
  }
}

/** Without the proxy of the environment, which `fetch` might use. */
async function isReady (url: string): Promise<boolean> {
  return await new Promise(resolve => {
    nodeHttp.get(`${url}/readyz`, { agent: false }, reply => {
      reply.resume()
      resolve(reply.statusCode === 200)
    }).on('error', () => { resolve(false) })
  })
}

/** In ms, for the search for the differences of two texts. */
const DIFF_PATIENCE = 2000

interface WatchedPrompt { readonly prompt: string, readonly variables: () => Promise<JsonObject> }

/** Returns when the service ends. */
async function renderChanges (url: string, watched: WatchedPrompt | undefined, output: Output, cli: Cli): Promise<void> {
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
    const { rendered_prompt: rendered } = await api.ask('post', '/api/render/prompts/{id}', { id: prompt }, { variables: await variables() })
    const text = textIn(rendered)
    if (last === '') await output.text(text)
    else if (text !== last) await output.diff(await patchOf(prompt, last, text))
    return text
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    await output.words(error.message)
    return last
  }
}

async function patchOf (prompt: string, before: string, after: string): Promise<string> {
  const { createTwoFilesPatch, OMIT_HEADERS } = await import('diff')
  const options = { context: 3, headerOptions: OMIT_HEADERS, timeout: DIFF_PATIENCE }
  return createTwoFilesPatch(prompt, prompt, before, after, undefined, undefined, options) ?? after
}

function textIn (rendered: ApiReply<'post', '/api/render/prompts/{id}'>['rendered_prompt']): string {
  if (typeof rendered === 'string') return rendered.endsWith('\n') ? rendered : `${rendered}\n`
  return rendered.map(({ role, content }) => `[${role}]\n${typeof content === 'string' ? content : ''}\n`).join('')
}

async function tellProblems (api: ApiClient, output: Output): Promise<void> {
  for (const { key, cursor, diagnostics } of await api.list('/api/status/entries', { limit: '100' })) {
    for (const { severity, message, line, column } of diagnostics) {
      if (severity === 'error') await output.words(`${key || cursor}:${line}:${column}: ${message}`)
    }
  }
}

const OPENERS: ReadonlyMap<string, string> = new Map([['darwin', 'open'], ['win32', 'explorer']])

/** Does nothing without a terminal. */
export async function listenToKeys (
  stdin: Readable & { readonly isTTY?: boolean, setRawMode? (isRaw: boolean): unknown },
  address: string,
  output: Output,
  open: (address: string) => void = openInBrowser
): Promise<void> {
  if (stdin.isTTY !== true || stdin.setRawMode === undefined || output.terminal === undefined) return
  await output.words('c opens the console, Ctrl-C ends')
  emitKeypressEvents(stdin)
  stdin.setRawMode(true)
  // The shell expects a terminal that reads whole lines.
  process.once('exit', () => { stdin.setRawMode?.(false) })
  stdin.on('keypress', (_text: string | undefined, { name = '', ctrl = false }: { readonly name?: string, readonly ctrl?: boolean }) => {
    // Ctrl-C sends no signal while keys are read one by one.
    if (ctrl && name === 'c') process.kill(process.pid, 'SIGINT')
    else if (name === 'c') {
      // On a machine without a browser the user opens it elsewhere.
      void output.words(`console: ${address}`)
      open(address)
    }
  })
}

function openInBrowser (address: string): void {
  const program = OPENERS.get(process.platform) ?? 'xdg-open'
  spawn(program, [address], { stdio: 'ignore', detached: true }).on('error', () => {}).unref()
}
