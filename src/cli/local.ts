import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { chdir, cwd, loadEnvFile } from 'node:process'
import { parseEnv } from 'node:util'
import type { FastifyBaseLogger } from 'fastify'
import { createApp } from '../app.ts'
import { type Log } from '../runtime/telemetry.ts'
import { type Config, ConfigError, loadConfig } from '../config/config.ts'
import { configSchema } from '../config/config-schema.ts'
import { openService, type Service } from '../service.ts'
import { isInside } from '../store/directory-paths.ts'
import { StoreError } from '../store/store.ts'
import { ApiClient, type ApiRequest, type ApiResponse } from './api-client.ts'
import { type Cli } from './context.ts'
import { ENTRY_KINDS } from './entries.ts'
import { usageError } from './output.ts'

/** Names no place: nothing listens, and every request is one of this machine. */
const URL_HERE = 'http://localhost'

export interface LocalService {
  readonly api: ApiClient
  close (): Promise<void>
}

/** The whole service in this process, over the store of the environment; it is the user's own, and asks for no token. @throws CliError */
export async function openLocal ({ environment, signal }: Cli, log: Log): Promise<LocalService> {
  return await openApp(() => loadConfig(environment), log, signal)
}

/** For a test: a folder's service, which asks models. Changes the working directory; see `folderConfig`. @throws CliError */
export async function openFolder (folder: string, trusts: boolean, warn: Warn, { environment, signal }: Cli): Promise<LocalService> {
  return await openApp(() => folderConfig(folder, warn, environment, { asksModels: true, trusts }), logInto(warn), signal)
}

/** For a check, which reads more of a folder than is told over HTTP. Changes the working directory; see `folderConfig`. @throws CliError */
export async function openFolderService (folder: string, trusts: boolean, warn: Warn, { environment }: Cli): Promise<Service> {
  return await opened(async () => {
    const config = folderConfig(folder, warn, environment, { asksModels: false, trusts })
    return await openService({ ...config, ALLOW_ROOT: true }, logInto(warn), { logsSessions: false })
  })
}

async function openApp (configure: () => Config, log: Log, signal: AbortSignal): Promise<LocalService> {
  const app = await opened(async () => {
    // The check against a server as root is off: this process belongs to its user.
    const config = { ...configure(), ALLOW_ROOT: true, API_TOKENS: '', API_TOKENS_FILE: '', AUTH_ISSUER: '', CONSOLE: 'off', MCP_SERVER: 'off' } as const
    return await createApp(config, serverLog(log), { isLocal: true })
  })

  async function inject ({ method, path, text, headers }: ApiRequest): Promise<ApiResponse> {
    const gone = new AbortController()
    const reply = await app.inject({
      method,
      url: path,
      payload: text,
      headers: { ...(text === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      signal: AbortSignal.any([signal, gone.signal]),
      payloadAsStream: true
    })
    // A reader who leaves a stream of events ends the request, as a closed connection does.
    const body = reply.stream().once('close', () => { gone.abort() })
    return Object.assign(body, { statusCode: reply.statusCode, headers: reply.headers as ApiResponse['headers'] })
  }

  return { api: new ApiClient({ url: URL_HERE, token: '', signal, inject }), close: () => app.close() }
}

async function opened<T> (open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (error) {
    if (error instanceof ConfigError || error instanceof StoreError) throw usageError(error.message)
    throw error
  }
}

/** What the server logs of requests; a line without fields may be of Fastify itself. */
function serverLog (log: Log): FastifyBaseLogger {
  const ignore = (): void => {}
  const at = (level: 'warn' | 'error') => (fields: unknown, message = ''): void => {
    log[level](Object(fields) as object, typeof fields === 'string' ? fields : message)
  }
  const [warn, error] = [at('warn'), at('error')]
  const server: FastifyBaseLogger = {
    level: 'warn', silent: ignore, trace: ignore, debug: ignore, info: ignore, warn, error, fatal: error, child: () => server
  }
  return server
}

type Warn = (message: string) => void

/** The service also lists the problems of entries, as notices. */
function logInto (warn: Warn): Log {
  const tell = (fields: object, message: string): void => { if (!['key', 'tool', 'unusable'].some(field => field in fields)) warn(message) }
  return { debug () {}, info () {}, warn: tell, error: tell }
}

/** Ignored for a check or a test: such a service reads the folder, and stores nothing elsewhere. */
const UNWANTED = /^(?:REDIS_|STORE_|SESSION_|STATE_|API_TOKEN|WORKERS|OTEL_|KEY_PREFIX)/

const OF_MODELS = /^LLM_/

/** Changes the working directory. The folder may be a stranger's: without `trusts` only harmless variables of its `.env` count. */
function folderConfig (
  folder: string,
  warn: Warn,
  environment: Cli['environment'],
  { asksModels, trusts }: { readonly asksModels: boolean, readonly trusts: boolean }
): Config {
  if (!existsSync(folder)) throw usageError(`${folder}: expected a folder, got nothing`)
  chdir(folder)
  const isWanted = (name: string) => !UNWANTED.test(name) && (asksModels || !OF_MODELS.test(name))
  const given = existsSync('.env') ? parseEnv(readFileSync('.env', 'utf8')) : {}
  // Programs that tools start, and the values of their secrets, come from the environment of the process.
  if (trusts && existsSync('.env')) loadEnvFile('.env')
  const own = trusts ? given : harmlessIn(given, isWanted, environment, warn)
  const folders = ENTRY_KINDS.map(({ key }) => key)
  if (!folders.some(each => existsSync(each))) throw usageError(`${folder}: expected one of the folders ${folders.join(', ')}`)
  const wanted = Object.fromEntries(Object.entries({ ...own, ...environment }).filter(([name]) => isWanted(name)))
  return loadConfig({ ...wanted, STORE_DIR: '.', SESSION_STORE: 'memory' })
}

/** The variables of the folder's `.env` that are taken from anybody. The process's own environment stays as it is: programs that it starts would see it. */
function harmlessIn (given: Cli['environment'], isWanted: (name: string) => boolean, environment: Cli['environment'], warn: (message: string) => void) {
  const wanted = Object.entries(given).filter((each): each is [string, string] => isWanted(each[0]) && each[1] !== undefined)
  const taken = wanted.filter(([name, value]) => isHarmless(name, value))
  const left = wanted.filter(([name, value]) => value !== '' && !isHarmless(name, value) && environment[name] === undefined).map(([name]) => name)
  if (left.length > 0) warn(`.env: ${left.join(', ')} left out, which can run commands or say where keys are sent: --trust takes all of it`)
  return Object.fromEntries(taken)
}

function isHarmless (name: string, value: string): boolean {
  // Starters and tests do without a real model: the service's own one, with replies in the folder.
  if (name === 'LLM_BASE_URL') return value.startsWith('builtin:')
  if (name === 'LLM_SCRIPT_FILE') return existsSync(value) && isInside(cwd(), realpathSync(value))
  const { properties } = configSchema
  return Object.hasOwn(properties, name) && 'fromFolder' in properties[name as keyof typeof properties]
}
