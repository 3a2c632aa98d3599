import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'

/** A request as the server saw it. */
export interface SeenRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** A real HTTP server that answers as a tool does, and as broken ones do. */
export interface RestfulToolServer {
  readonly origin: string
  readonly port: number
  readonly requests: readonly SeenRequest[]
  /** Sockets that are open now. */
  sockets (): number
}

type Behaviour = (response: ServerResponse, request: SeenRequest) => void

const json = (response: ServerResponse, value: unknown, status = 200) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))

/** What each path does; everything that goes wrong in the field is one of them. */
const behaviours: Readonly<Record<string, Behaviour>> = {
  '/echo': (response, { method, url, headers, body }) => json(response, { method, url, headers, body }),
  '/big-integer': response => response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":12345678901234567890}'),
  '/text': response => response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end('plain "text" – ü'),
  '/gbk': response => response.writeHead(200, { 'content-type': 'text/plain; charset=gbk' }).end(Buffer.from([0xc4, 0xe3, 0xba, 0xc3])),
  '/json-as-text': response => response.writeHead(200, { 'content-type': 'text/plain' }).end('{"a":1}'),
  '/identity': response => response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'Identity' }).end('[]'),
  '/empty': response => response.writeHead(204).end(),
  '/hang': () => {},
  '/hang-after-headers': response => { response.writeHead(200, { 'content-type': 'application/json' }).write('{') },
  '/drip': response => drip(response, '"', 5),
  '/endless': response => flood(response),
  '/too-long': response => response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 10_000_000 }).end('x'.repeat(10_000_000)),
  '/bomb': response => response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(10_000_000, 0x20))),
  '/reset': response => { response.destroy() },
  '/reset-in-body': response => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 })
    response.write('{"a":', () => response.destroy())
  },
  '/bad-json': response => response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":'),
  '/deep-json': response => response.writeHead(200, { 'content-type': 'application/json' }).end('['.repeat(100_000)),
  '/bad-utf8': response => response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.from([0x22, 0xff, 0x22])),
  '/html': response => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Log in</h1>'),
  '/image': response => response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from([1, 2, 3])),
  '/500': response => json(response, { error: 'broken' }, 500),
  '/503': response => json(response, { error: 'busy' }, 503),
  '/404': response => json(response, { error: 'no such thing' }, 404),
  '/huge-headers': response => response.writeHead(200, { 'x-huge': 'x'.repeat(100_000) }).end('{}'),
  '/redirect': response => response.writeHead(302, { location: '/echo' }).end(),
  '/not-http': response => { response.socket?.end('SSH-2.0-OpenSSH_9.6\r\n') }
}

/** Starts the server on a free port; it ends with the test. */
export async function startRestfulToolServer (test: Pick<TestContext, 'after'>, further: Readonly<Record<string, Behaviour>> = {}): Promise<RestfulToolServer> {
  const requests: SeenRequest[] = []
  let open = 0
  const server = createServer({ maxHeaderSize: 256 * 1024 }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const seen = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() }
      requests.push(seen)
      const path = seen.url.replace(/\?.*$/s, '')
      const behaviour = further[path] ?? behaviours[path] ?? behaviours['/echo'] as Behaviour
      behaviour(response, seen)
    })
  })
  server.on('connection', socket => {
    open++
    socket.on('close', () => open--)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  test.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, port, requests, sockets: () => open }
}

/** Sends a byte every few milliseconds, for as long as anybody listens. */
function drip (response: ServerResponse, first: string, milliseconds: number): void {
  response.writeHead(200, { 'content-type': 'application/json' }).write(first)
  const timer = setInterval(() => response.write('x'), milliseconds)
  response.on('close', () => clearInterval(timer))
}

/** Sends as much as the connection takes, for as long as anybody listens. */
function flood (response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/plain' })
  const chunk = Buffer.alloc(64 * 1024, 0x78)
  const write = () => { while (!response.destroyed && response.write(chunk)); }
  response.on('drain', write)
  write()
}
