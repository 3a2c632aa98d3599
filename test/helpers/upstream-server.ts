import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, type Socket } from 'node:net'

/** One request that the upstream has received. */
export interface Hit {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** As they came: names and values in turn. */
  readonly rawHeaders: readonly string[]
  readonly body: string
}

/** Answers one request. `count` is 1 for the first. */
export type Answer = (hit: Hit, response: ServerResponse, count: number) => void

/** A real HTTP server on a free port that stands in for a model's API. */
export interface UpstreamServer {
  /** `http://127.0.0.1:port/v1` */
  readonly baseUrl: string
  readonly hits: readonly Hit[]
  /** Connections that are open now. */
  readonly sockets: ReadonlySet<Socket>
  /** Resolves when no connection is open any more. */
  allClosed (): Promise<void>
  close (): Promise<void>
}

/** Starts an upstream that answers every request with `answer`. */
export async function startUpstream (answer: Answer): Promise<UpstreamServer> {
  const hits: Hit[] = []
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    receive(request).then(hit => {
      hits.push(hit)
      answer(hit, response, hits.length)
    }, () => request.destroy())
  })
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  const allClosed = async () => {
    for (const socket of sockets) if (!socket.closed) await once(socket, 'close')
  }
  const { port } = server.address() as AddressInfo
  return { baseUrl: `http://127.0.0.1:${port}/v1`, hits, sockets, allClosed, close }
}

/** Answers with JSON. */
export function sendJson (response: ServerResponse, status: number, value: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(value))
}

/** A chat completion in the shape of OpenAI's API. */
export function completion (content: string, extra: object = {}): object {
  return {
    id: 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT',
    object: 'chat.completion',
    created: 1741569952,
    model: 'gpt-4.1-2025-04-14',
    choices: [{ index: 0, message: { role: 'assistant', content, refusal: null, annotations: [] }, logprobs: null, finish_reason: 'stop' }],
    usage: { prompt_tokens: 19, completion_tokens: 10, total_tokens: 29 },
    service_tier: 'default',
    ...extra
  }
}

/** Streams a chat completion in the shape of OpenAI's API. */
export function sendCompletionStream (response: ServerResponse, pieces: readonly string[], extra: object = {}, withUsage = false): void {
  const head = { id: 'chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG', object: 'chat.completion.chunk', created: 1741570283, model: 'gpt-4.1-2025-04-14', service_tier: 'default', ...extra }
  const send = (fields: object) => response.write(`data: ${JSON.stringify({ ...head, ...fields })}\n\n`)
  const choice = (delta: object, finish: string | null = null) => send({ choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] })
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  choice({ role: 'assistant', content: '', refusal: null })
  for (const content of pieces) choice({ content })
  choice({}, 'stop')
  if (withUsage) send({ choices: [], usage: { prompt_tokens: 19, completion_tokens: 10, total_tokens: 29 } })
  response.end('data: [DONE]\n\n')
}

async function receive (request: IncomingMessage): Promise<Hit> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return { method: request.method ?? '', path: request.url ?? '', headers: request.headers, rawHeaders: request.rawHeaders, body: Buffer.concat(chunks).toString('utf8') }
}
