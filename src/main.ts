import { setTimeout as sleep } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import { createApp } from './app.ts'
import { ConfigError, loadConfig, type Config } from './config.ts'
import { createLog } from './observe/log.ts'
import { StoreError } from './store/store.ts'

const config = readConfig()
const log = createLog({ level: config.LOG_LEVEL, values: config.LOG_VALUES })
try {
  const app = await createApp(config, log)
  closeWithGrace({ delay: false, logger: log }, async ({ err, signal }) => {
    if (err !== undefined) log.error({ err }, 'closing after an error')
    if (signal === 'SIGTERM') await app.rotation.leave(config.DRAIN_DELAY_MS)
    const isDrained = await Promise.race([app.close().then(() => true), sleep(config.DRAIN_TIMEOUT_MS, false)])
    if (!isDrained) throw new Error('requests in flight took longer than DRAIN_TIMEOUT_MS and were cut')
  })
  await app.listen({ host: config.HOST, port: config.PORT })
  // Whoever waits for the line that says so need not wait for the batch.
  log.flush()
} catch (error) {
  refuse(error)
}

function readConfig (): Config {
  try {
    return loadConfig(process.env)
  } catch (error) {
    return refuse(error)
  }
}

/** Mistakes of the operator are told in plain words; anything else keeps its stack. */
function refuse (error: unknown): never {
  const isMistake = error instanceof ConfigError || error instanceof StoreError || (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
  process.stderr.write(`ai-prompt-shell does not start\n${isMistake ? (error as Error).message : (error as Error).stack ?? String(error)}\n`)
  process.exit(1)
}
