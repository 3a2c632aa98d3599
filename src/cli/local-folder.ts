import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { chdir, cwd, loadEnvFile } from 'node:process'
import { parseEnv } from 'node:util'
import { type Log } from '../runtime/telemetry.ts'
import { ConfigError, loadConfig } from '../config/config.ts'
import { configSchema } from '../config/config-schema.ts'
import { openService, type Service } from '../service.ts'
import { isInside } from '../store/directory-paths.ts'
import { StoreError } from '../store/store.ts'
import { type Cli } from './context.ts'
import { ENTRY_KINDS } from './entries.ts'
import { usageError } from './output.ts'

/** Ignored for a check or a test: such a service reads the folder, and stores nothing elsewhere. */
const UNWANTED = /^(?:REDIS_|STORE_|SESSION_|STATE_|API_TOKEN|WORKERS|OTEL_|KEY_PREFIX)/

const OF_MODELS = /^LLM_/

/** Changes the working directory. The folder may be a stranger's: without `trusts` only harmless variables count. @throws CliError */
export async function openHere (
  folder: string,
  warn: (message: string) => void,
  { environment }: Pick<Cli, 'environment'>,
  { asksModels, trusts }: { readonly asksModels: boolean, readonly trusts: boolean }
): Promise<Service> {
  if (!existsSync(folder)) throw usageError(`${folder}: expected a folder, got nothing`)
  chdir(folder)
  const isWanted = (name: string) => !UNWANTED.test(name) && (asksModels || !OF_MODELS.test(name))
  const given = existsSync('.env') ? parseEnv(readFileSync('.env', 'utf8')) : {}
  // Programs that tools start, and the values of their secrets, come from the environment of the process.
  if (trusts && existsSync('.env')) loadEnvFile('.env')
  const own = trusts ? given : harmlessIn(given, isWanted, environment, warn)
  const folders = ENTRY_KINDS.map(({ key }) => key)
  if (!folders.some(each => existsSync(each))) throw usageError(`${folder}: expected one of the folders ${folders.join(', ')}`)
  // The service also lists these problems, as notices.
  const tell = (fields: object, message: string): void => { if (!['key', 'tool', 'unusable'].some(field => field in fields)) warn(message) }
  const log: Log = { debug () {}, info () {}, warn: tell, error: tell }
  try {
    const wanted = Object.fromEntries(Object.entries({ ...own, ...environment }).filter(([name]) => isWanted(name)))
    return await openService({ ...loadConfig({ ...wanted, STORE_DIR: '.', SESSION_STORE: 'memory' }), ALLOW_ROOT: true }, log, { logsSessions: false })
  } catch (error) {
    if (error instanceof ConfigError || error instanceof StoreError) throw usageError(error.message)
    throw error
  }
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
