import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { pino } from 'pino'
import { loadConfig } from './config/config.ts'
import { hostNames } from './http/access.ts'
import { KIND_ROUTES } from './http/routes/entries.ts'
import { createServer } from './http/server.ts'
import { Metrics } from './observe/metrics.ts'
import { createObserver } from './observe/observer.ts'
import { timeLimit } from './runtime/deadline.ts'
import type { Log } from './runtime/telemetry.ts'
import { openService } from './service.ts'
import type { Store } from './store/store.ts'

/**
 * The prefix of all keys of a warm-up (requests that the service sends to itself at its start, so that its code is compiled). The keys are
 * in a separate store, which exists only during the warm-up.
 */
const OWN_PREFIX = 'warm:'

const numbers = Array.from({ length: 10 }, (_, index) => index)
const PROSE = 'Answer in the language of the question, and name the file and the line that you speak of. '

const HANDLEBARS = [
  PROSE,
  ...numbers.map(index => `{{own.fact${index}}}, {{variables.text${index}}}`),
  '{{#each variables.items}}- {{name}} ({{size}}){{#if more}}, {{more}}{{/if}}\n{{/each}}'
].join('\n')
const GO = [
  PROSE,
  ...numbers.map(index => `{{.own.fact${index}}}, {{.variables.text${index}}}`),
  '{{range .variables.items}}- {{.name}} ({{.size}}){{if .more}}, {{.more}}{{end}}\n{{end}}'
].join('\n')
const textOf = (content: string): string => JSON.stringify({ messages: [{ role: 'system', content: PROSE }, { role: 'user', content }] })

/** The entries of a warm-up: a prompt in each template language, and the shared variables that both prompts read. */
const OWN_ENTRIES: ReadonlyMap<string, string> = new Map([
  ...numbers.map(index => [`${OWN_PREFIX}environs:own:fact${index}`, JSON.stringify(`what fact ${index} says`)] as const),
  ...Object.entries({ handlebars: HANDLEBARS, go: GO }).map(([name, content]) => [`${OWN_PREFIX}templates:own:${name}`, textOf(content)] as const)
])

const VARIABLES = {
  ...Object.fromEntries(numbers.map(index => [`text${index}`, `value ${index} of the caller, a line`])),
  items: numbers.map(index => ({ name: `item-${index}`, size: index * 37, more: index % 2 === 0 ? 'more' : '' }))
}

const BODY = JSON.stringify({ variables: VARIABLES })

/** The paths, below `/api/`, of the requests that a warm-up sends: four renders and a chat. */
const PATHS = [
  'render/prompts/own.handlebars', 'render/prompts/own.go', 'render/prompts/own.handlebars', 'chat/prompts/own.handlebars', 'render/prompts/own.go'
]

/**
 * The HTTP requests of a warm-up, in their order. Each request is one text, so that it is one write to the socket: a second write would wait until the
 * first is acknowledged.
 */
const OWN_REQUESTS: readonly string[] = PATHS.map(path =>
  `POST /api/${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(BODY)}\r\n\r\n${BODY}`)

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

/** Makes a store in memory whose texts never change. @param texts the stored texts by their keys */
function fixedStore (texts: ReadonlyMap<string, string>): Store {
  return {
    variant: 'memory',
    async * scan (prefix) { yield [...texts.keys()].filter(key => key.startsWith(prefix)) },
    read: async keys => keys.map(key => {
      const text = texts.get(key)
      return text === undefined ? { kind: 'missing' } : { kind: 'text', text }
    }),
    has: async keys => keys.map(key => texts.has(key)),
    write: async () => 'read-only',
    remove: async () => 'read-only',
    watch: async () => async () => {},
    status: () => ({ connected: true, changes: 'pushed' }),
    close: async () => {}
  }
}

/**
 * Sends requests over one connection, each after the answer to the one before, and from the first again, until the signal ends it.
 * @param requests whole HTTP requests, as text; their replies must have a `content-length`
 * @param signal ends the sending, and the connection
 * @returns how many requests were answered with 200
 * @throws Error when the connection fails, or when an answer has another status
 */
async function sendInTurn (port: number, requests: readonly string[], signal: AbortSignal): Promise<number> {
  if (signal.aborted) return 0
  const socket = connect(port, '127.0.0.1').setNoDelay()
  const leave = (): void => { socket.destroy() }
  signal.addEventListener('abort', leave, { once: true })
  let answered = 0
  let reply: Buffer = Buffer.alloc(0)
  const send = (): void => { socket.write(requests[answered % requests.length] as string) }
  try {
    socket.on('connect', send)
    socket.on('data', (piece: Buffer) => {
      reply = reply.length === 0 ? piece : Buffer.concat([reply, piece])
      if (!isWhole(reply)) return
      const status = reply.toString('latin1', 9, 12)
      if (status !== '200') {
        socket.destroy(new Error(`a request of the warm-up was answered with ${status}`))
        return
      }
      reply = Buffer.alloc(0)
      answered++
      send()
    })
    await once(socket, 'close')
    return answered
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

function isWhole (reply: Buffer): boolean {
  const end = reply.indexOf('\r\n\r\n')
  if (end === -1) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(reply.toString('latin1', 0, end))?.[1]
  return reply.length - end - 4 >= Number(length)
}
