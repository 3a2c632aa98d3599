import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { extname } from 'node:path'
import { chdir, env, loadEnvFile } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseEnv } from 'node:util'
import { nodeHttp } from '../runtime/http-modules.ts'
import { configSchema } from '../config/config-schema.ts'
import { isNearly } from '../base/near-matches.ts'
import { CliError, EXIT, type Output, usageError } from './output.ts'
import { endWithParent } from './serve-in-child.ts'

/** All kinds but tests of prompts; a folder needs at least one to be served. */
const KINDS = ['extensions', 'templates', 'environs', 'tools', 'agents', 'skills', 'plans']

const TRY = 'try: curl -s URL/api/render/prompts/greet -H "content-type: application/json" -d \'{"variables":{"name":"Ada"}}\''

/** Others read them from `.env`: this command line, OpenTelemetry, and secrets of tools, which the operator names. */
const OTHERS = /^(?:APS_|OTEL_|TOOL_SECRET_)/

/** In ms. */
const PATIENCE = 15_000

/** The process goes on serving. @returns `undefined` if not ready in time @throws CliError with nothing to serve, or a taken address */
export async function serveFolder (folder: string, output: Output): Promise<string | undefined> {
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
