import { existsSync } from 'node:fs'
import { chdir, env, loadEnvFile } from 'node:process'
import { type Log } from '../../base/log.ts'
import { ConfigError, loadConfig } from '../../config/config.ts'
import { openService, type Service } from '../../service.ts'
import { StoreError } from '../../store/store.ts'
import { ENTRY_KINDS } from '../entries/entry-kinds.ts'
import { usageError } from '../exit-codes.ts'

/**
 * The environment variables that are ignored when a service is opened only to check or test a folder: such a service reads the
 * folder, and stores nothing elsewhere.
 */
const UNWANTED = /^(?:REDIS_|STORE_|SESSION_|STATE_|API_TOKEN|WORKERS|OTEL_|KEY_PREFIX)/

/** The environment variables that say which models are asked. */
const OF_MODELS = /^LLM_/

/**
 * Opens a service that serves a folder, in this process. The folder becomes the working directory, so that the folder's `.env` is read.
 * @param warn called about files that the service does not read
 * @throws CliError
 */
export async function openHere (folder: string, warn: (message: string) => void, { asksModels }: { readonly asksModels: boolean }): Promise<Service> {
  if (!existsSync(folder)) throw usageError(`${folder}: expected a folder, got nothing`)
  chdir(folder)
  if (existsSync('.env')) loadEnvFile('.env')
  const folders = ENTRY_KINDS.map(({ key }) => key)
  if (!folders.some(each => existsSync(each))) throw usageError(`${folder}: expected one of the folders ${folders.join(', ')}`)
  // Log lines about problems of entries and tools are dropped here, since the service also lists these problems (as notices).
  const tell = (fields: object, message: string): void => { if (!('key' in fields) && !('tool' in fields)) warn(message) }
  const log: Log = { debug () {}, info () {}, warn: tell, error: tell }
  try {
    const wanted = Object.fromEntries(Object.entries(env).filter(([name]) => !UNWANTED.test(name) && (asksModels || !OF_MODELS.test(name))))
    return await openService({ ...loadConfig({ ...wanted, STORE_DIR: '.', SESSION_STORE: 'memory' }), ALLOW_ROOT: true }, log, { logsSessions: false })
  } catch (error) {
    if (error instanceof ConfigError || error instanceof StoreError) throw usageError(error.message)
    throw error
  }
}
