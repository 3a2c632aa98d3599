import { type AddressInfo } from 'node:net'
import { pino } from 'pino'
import { type Log } from './base/log.ts'
import { loadConfig } from './config/config.ts'
import { KIND_ROUTES } from './http/kinds/kind-routes.ts'
import { hostNames } from './http/security/host-names.ts'
import { createServer } from './http/server.ts'
import { Metrics } from './observe/metrics.ts'
import { createObserver } from './observe/observer.ts'
import { timeLimit } from './runtime/deadline.ts'
import { openService } from './service.ts'
import { fixedStore } from './warm-up/fixed-store.ts'
import { OWN_ENTRIES, OWN_PREFIX, OWN_REQUESTS } from './warm-up/own-prompts.ts'
import { sendInTurn } from './warm-up/send-in-turn.ts'

/** How many connections send the requests of a warm-up. */
const CONNECTIONS = 8

/** Options of a warm-up, for tests. */
export interface WarmUpOptions {
  /** The texts of the HTTP requests that are sent. @default OWN_REQUESTS */
  readonly requests?: readonly string[]
}

/**
 * Makes the code fast before the service serves anybody: V8 compiles some 400 functions only after they have run often enough, which takes most of
 * a second under load. The requests (renders and chats) go over a socket to a second service in memory, which has other prompts, its own metrics
 * and a silent log, so that no user's data is touched. A failure is logged once, and changes nothing else.
 * @param level the log level of the service: code for lines that this level does not log is not run
 * @param milliseconds how long requests are sent; 0 for no warm-up
 * @param signal ends the warm-up at once
 * @returns how many requests were answered
 */
export async function warmUp (
  milliseconds: number,
  level: string,
  log: Log,
  signal: AbortSignal,
  { requests = OWN_REQUESTS }: WarmUpOptions = {}
): Promise<number> {
  if (milliseconds === 0 || signal.aborted) return 0
  try {
    return await sendRequests(milliseconds, level, signal, requests)
  } catch (error) {
    log.warn({ err: error }, 'the warm-up failed, and the service starts without it')
    return 0
  }
}

async function sendRequests (milliseconds: number, level: string, signal: AbortSignal, requests: readonly string[]): Promise<number> {
  const config = loadConfig({ STORE_DIR: 'in memory', SESSION_STORE: 'memory', KEY_PREFIX: OWN_PREFIX, LLM_BASE_URL: 'builtin:echo' })
  const silent = pino({ level }, { write: () => {} })
  const metrics = new Metrics()
  const observer = createObserver(metrics, undefined)
  const service = await openService(config, silent, { store: fixedStore(OWN_ENTRIES), sessionObserver: observer })
  const app = await createServer({
    service,
    kindRoutes: KIND_ROUTES,
    log: silent,
    access: { mode: 'open', hosts: hostNames([]), origins: new Set() },
    corsOrigins: [],
    observer,
    readMetrics: () => metrics.read(undefined),
    onWatched: () => {},
    logValues: false,
    renderTimeout: config.RENDER_TIMEOUT_MS,
    bodyLimit: config.BODY_LIMIT_BYTES,
    mcpServer: false,
    console: false
  })
  const ending = timeLimit(signal, milliseconds)
  try {
    // The port is `exclusive`: otherwise the workers of a cluster would share it, and warm up each other.
    await app.ready()
    await new Promise<void>((resolve, reject) => {
      app.server.once('error', reject)
      app.server.listen({ host: '127.0.0.1', port: 0, exclusive: true }, resolve)
    })
    const { port } = app.server.address() as AddressInfo
    const answered = await Promise.all(Array.from({ length: CONNECTIONS }, () => sendInTurn(port, requests, ending)))
    return answered.reduce((sum, each) => sum + each)
  } finally {
    app.server.closeAllConnections()
    app.server.close()
    await app.close()
    await service.close()
  }
}
