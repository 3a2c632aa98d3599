import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { pino } from 'pino'
import { loadConfig } from './config/config.ts'
import { hostNames } from './http/access.ts'
import { KIND_ROUTES } from './http/routes/entries.ts'
import { createServer } from './http/server.ts'
import { Metrics } from './observe/metrics.ts'
import { timeLimit } from './runtime/deadline.ts'
import type { Log } from './runtime/telemetry.ts'
import { openService } from './service.ts'
import type { Store } from './store/store.ts'

/** In a separate store, which exists only during the warm-up. */
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

const OWN_ENTRIES: ReadonlyMap<string, string> = new Map([
  ...numbers.map(index => [`${OWN_PREFIX}environs:own:fact${index}`, JSON.stringify(`what fact ${index} says`)] as const),
  ...Object.entries({ handlebars: HANDLEBARS, go: GO }).map(([name, content]) => [`${OWN_PREFIX}templates:own:${name}`, textOf(content)] as const)
])

const VARIABLES = {
  ...Object.fromEntries(numbers.map(index => [`text${index}`, `value ${index} of the caller, a line`])),
  items: numbers.map(index => ({ name: `item-${index}`, size: index * 37, more: index % 2 === 0 ? 'more' : '' }))
}

const BODY = JSON.stringify({ variables: VARIABLES })

const PATHS = [
  'render/prompts/own.handlebars', 'render/prompts/own.go', 'render/prompts/own.handlebars', 'chat/prompts/own.handlebars', 'render/prompts/own.go'
]

/** Each is one write to the socket: a second write would wait until the first is acknowledged. */
const OWN_REQUESTS: readonly string[] = PATHS.map(path =>
  `POST /api/${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(BODY)}\r\n\r\n${BODY}`)

const CONNECTIONS = 8

interface WarmUpOptions {
  /** @default OWN_REQUESTS */
  readonly requests?: readonly string[]
}

/** V8 compiles some 400 functions only after many runs, so a second service in memory runs them without users' data; 0 ms: none. */
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
  const observer = { metrics, tracer: undefined }
  const service = await openService(config, silent, { store: fixedStore(OWN_ENTRIES), observer })
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
    chatBodyLimit: config.CHAT_BODY_LIMIT_BYTES,
    mcpServer: false,
    console: false
  })
  const ending = timeLimit(signal, milliseconds)
  try {
    // `exclusive`: otherwise the workers of a cluster would share the port, and warm up each other.
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

/** Replies must have a `content-length`. Gives the count of 200s. @throws Error when the connection fails, or for another status */
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
