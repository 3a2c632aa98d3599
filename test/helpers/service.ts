import { Writable } from 'node:stream'
import { pino } from 'pino'
import { type AppOptions, createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import { type App } from '../../src/http/app.ts'
import { pinoOptions } from '../../src/observe/log.ts'
import { holdToListedErrors } from './listed-errors.ts'
import { type MemoryStore } from './memory-store.ts'
import { type Registrations, storeWith } from './registered.ts'
import { type AtEnd } from './shared.ts'

export interface Service {
  readonly app: App
  readonly store: MemoryStore
  /** Log lines so far, of at least `warn` unless `LOG_LEVEL` says another. */
  readonly log: readonly JsonView[]
  /** POSTs JSON; gives the status, the headers and the parsed reply. */
  post (url: string, body?: unknown, headers?: RequestHeaders): Promise<Reply>
  get (url: string, headers?: RequestHeaders): Promise<Reply>
  /** Listens on a free port; gives the origin. */
  listen (): Promise<string>
}

export type RequestHeaders = Readonly<Record<string, string>>

/** Parsed JSON, to be read with `?.` down to the value that is compared. */
export interface JsonView { readonly [key: string]: JsonView | undefined }

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>
  readonly json: JsonView
}

/** The whole service over a store in memory, closed at the end of the test. */
export async function startService (t: AtEnd, registrations: Registrations, environment: Readonly<Record<string, string>> = {}, options: Pick<AppOptions, 'kindRoutes' | 'toolTypes'> = {}): Promise<Service> {
  const store = storeWith(registrations)
  const log: JsonView[] = []
  const sink = new Writable({
    write (line: Buffer, _encoding, done) {
      log.push(JSON.parse(line.toString()) as JsonView)
      done()
    }
  })
  // The first render of a process compiles much code: beside other tests that takes longer than the 500 ms of the default.
  const config = loadConfig({ STORE_DIR: 'unused', SESSION_STORE: 'memory', ALLOW_ROOT: 'true', LOG_LEVEL: 'warn', RENDER_TIMEOUT_MS: '10000', ...environment })
  const app = await createApp(config, pino(pinoOptions({ level: config.LOG_LEVEL, values: config.LOG_VALUES }), sink), { store, ...options })
  t.after(() => app.close())
  holdToListedErrors(app)

  async function send (method: 'GET' | 'POST', url: string, headers: RequestHeaders = {}, body?: unknown): Promise<Reply> {
    const reply = await app.inject({ method, url, headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers }, ...(body === undefined ? {} : { payload: JSON.stringify(body) }) })
    return { status: reply.statusCode, headers: reply.headers, json: JSON.parse(reply.body) as JsonView }
  }
  return {
    app,
    store,
    log,
    post: (url, body, headers) => send('POST', url, headers, body),
    get: (url, headers) => send('GET', url, headers),
    listen: () => app.listen({ host: '127.0.0.1', port: 0 })
  }
}
