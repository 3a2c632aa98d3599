import cluster from 'node:cluster'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import { type Logger } from 'pino'
import { createApp } from './app.ts'
import { ConfigError, loadConfig, type Config } from './config/config.ts'
import { endEarlyBy, leaveEarlySignals } from './early-signals.ts'
import { openLog } from './observe/log.ts'
import { StoreError } from './store/store.ts'
import { warmUp } from './warm-up.ts'
import { Primary, WorkerError } from './workers/primary.ts'
import { WorkerLink } from './workers/worker-link.ts'

/** How much longer than the workers' own time limits the primary process waits for its workers to stop, in ms. */
const PRIMARY_EXTRA = 2000

/** The signal that the service does not handle itself. Node writes a heap snapshot at this signal when it was started with `--heapsnapshot-signal`. */
const DIAGNOSTIC_SIGNAL = 'SIGUSR2'

const config = readConfig()
const { log, end: endLog, abandon: abandonLog } = openLog({ level: config.LOG_LEVEL, values: config.LOG_VALUES }, config.WORKERS !== 1)
endEarlyBy(() => { void leaveEarly() })
try {
  const count = config.WORKERS === 'auto' ? availableParallelism() : config.WORKERS
  if (cluster.isPrimary && count > 1) await keepWorkers(count, config, log)
  else await serve(config, log)
  // The log writes lines in batches. The lines of the start are written now, since a person or a script perhaps waits for them.
  log.flush()
} catch (error) {
  await endLog()
  refuse(error)
}

/** Runs the service in this process, alone or as one of several workers. */
async function serve (config: Config, log: Logger): Promise<void> {
  const link = cluster.isWorker ? new WorkerLink() : undefined
  const leaving = new AbortController()
  void link?.stopped.then(() => { leaving.abort() })
  // The warm-up (requests that make the code fast) comes before the app is made. When this process is told to stop meanwhile, it ends at once: only
  // the log has to be closed.
  await warmUp(config.WARM_UP_MS, config.LOG_LEVEL, log, leaving.signal)
  if (leaving.signal.aborted) return await leaveEarly()
  const app = await createApp(config, log, { siblings: link })
  let isToLeave = false
  const grace = endInOrder(link === undefined ? [] : ['SIGINT', 'SIGTERM'], async ({ err, signal }) => {
    if (err !== undefined) log.error({ err }, 'closing after an error')
    if (isToLeave || signal === 'SIGTERM') await app.rotation.leave(config.DRAIN_DELAY_MS)
    const isDrained = await Promise.race([app.close().then(() => true), sleep(config.DRAIN_TIMEOUT_MS, false)])
    if (!isDrained) throw new Error('requests in flight took longer than DRAIN_TIMEOUT_MS and were cut')
  })
  void link?.stopped.then(({ leave }) => {
    isToLeave = leave
    return grace.close()
  })
  await app.listen({ host: config.HOST, port: config.PORT }).catch((error: NodeJS.ErrnoException) => { throw whyNotListening(error, config) })
}

/** Ends the process when the app does not exist yet, so that only the log has to be closed. */
async function leaveEarly (): Promise<void> {
  await endLog()
  process.exit(0)
}

async function keepWorkers (count: number, config: Config, log: Logger): Promise<void> {
  const primary = new Primary({ count, patience: config.DRAIN_DELAY_MS + config.DRAIN_TIMEOUT_MS + PRIMARY_EXTRA, log })
  endInOrder([], ({ signal }) => primary.stop(signal === 'SIGTERM'))
  await primary.start()
}

/**
 * Closes the service and ends the process, at a signal or at an error that nobody handles; a second signal ends the process at once. Errors are
 * logged before the log ends: a line that comes later would perhaps never be written.
 * @param skip signals that this process ignores, because the primary process handles them
 * @param work closes the service
 */
function endInOrder (skip: Array<'SIGINT' | 'SIGTERM'>, work: (event: { readonly err?: Error, readonly signal?: string }) => Promise<void>): { close (): void } {
  leaveEarlySignals()
  return closeWithGrace({ delay: false, logger: undefined, skip: [...skip, DIAGNOSTIC_SIGNAL], onSecondSignal: abandonLog, onSecondError: error => { log.error(error) } }, async event => {
    try {
      await work(event)
    } catch (error) {
      log.error(error)
      throw error
    } finally {
      await endLog()
    }
  })
}

function readConfig (): Config {
  try {
    return loadConfig(process.env)
  } catch (error) {
    return refuse(error)
  }
}

/**
 * Makes the error for an address at which the service cannot listen. For a known cause, the error tells the operator what to change; for any other
 * cause, it is the original error.
 */
function whyNotListening (error: NodeJS.ErrnoException, { HOST, PORT }: Config): Error {
  switch (error.code) {
    case 'EADDRINUSE': return new ConfigError(`PORT: expected a free port, got ${PORT}, where another process listens at ${HOST} already (EADDRINUSE)`)
    case 'EACCES': return new ConfigError(`PORT: expected a port that this process may listen on, got ${PORT} (EACCES)`)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND': return new ConfigError(`HOST: expected an address of this machine, got "${HOST}" (${error.code})`)
    default: return error
  }
}

/** Ends the process after a failed start, and prints why: a plain message for a mistake of the operator; for any other error, its stack. */
function refuse (error: unknown): never {
  const isMistake = error instanceof ConfigError || error instanceof StoreError || error instanceof WorkerError
  process.stderr.write(`ai-prompt-shell does not start\n${isMistake ? (error as Error).message : (error as Error).stack ?? String(error)}\n`)
  process.exit(1)
}
