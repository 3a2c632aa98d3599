import { type Logger, pino } from 'pino'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import { type App } from '../../src/http/app.ts'
import { type Store } from '../../src/store/store.ts'
import { waitFor } from './wait-for.ts'

/** What a call has given. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>
  readonly body: unknown
}

/** One process of the service over a store that others use too. */
export interface Replica {
  readonly app: App
  /** Stores a text as a prompt. */
  put (id: string, text: string, headers?: Readonly<Record<string, string>>): Promise<Answer>
  call (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<Answer>
  /** The text that a prompt renders to; the error's code where it does not. */
  render (id: string): Promise<string>
  /** Waits until a prompt renders to that. */
  renders (id: string, text: string): Promise<void>
  close (): Promise<void>
}

/** Opens a replica that records versions; the store outlives it. */
export async function openReplica (store: Store, environment: Readonly<Record<string, string>> = {}, log: Logger = pino({ level: 'silent' })): Promise<Replica> {
  const config = loadConfig({ STORE_DIR: 'unused', SESSION_STORE: 'memory', VERSIONS: 'http', POLL_INTERVAL_MS: '100', RENDER_TIMEOUT_MS: '10000', ...environment })
  const app = await createApp(config, log, { store: withoutClose(store) })

  async function call (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object | string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const type = typeof payload === 'string' ? 'text/plain' : 'application/json'
    const reply = await app.inject({ method, url, headers: { ...(payload === undefined ? {} : { 'content-type': type }), ...headers }, ...(payload === undefined ? {} : { payload }) })
    return { status: reply.statusCode, headers: reply.headers, body: reply.body === '' ? undefined : JSON.parse(reply.body) as unknown }
  }

  async function render (id: string): Promise<string> {
    const { status, body } = await call('POST', `/api/render/prompts/${id}`, {})
    return status === 200 ? (body as { rendered_prompt: string }).rendered_prompt : (body as { code: string }).code
  }

  return {
    app,
    put: (id, text, headers) => call('PUT', `/api/prompts/${id}`, text as unknown as object, headers),
    call,
    render,
    renders: async (id, text) => { await waitFor(`${id} to render to ${text}`, async () => await render(id) === text) },
    close: () => app.close()
  }
}

function withoutClose (store: Store): Store {
  return { ...store, close: async () => {} }
}
