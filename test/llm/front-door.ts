import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { ServiceError } from '../../src/base/errors.ts'
import { parseJson } from '../../src/base/json.ts'
import { type CallOptions, type ModelClient, type StreamEnd } from '../../src/llm/model-client.ts'
import type { JsonObject } from '../../src/base/json.ts'
import { openAiError, UpstreamRefusal } from '../../src/llm/upstream-error.ts'

/** The thinnest HTTP service over a model client, so that the official client can read what it answers. */
export interface FrontDoor {
  readonly baseUrl: string
  /** What became of the streams, in the order of their ends. */
  readonly ends: readonly StreamEnd[]
  close (): Promise<void>
}

export async function openFrontDoor (client: ModelClient): Promise<FrontDoor> {
  const ends: StreamEnd[] = []
  const server = createServer((request, response) => {
    answer(client, request, response, ends).catch(error => sendError(response, error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, ends, close }
}

async function answer (client: ModelClient, request: IncomingMessage, response: ServerResponse, ends: StreamEnd[]): Promise<void> {
  const leaver = new AbortController()
  response.once('close', () => leaver.abort(new Error('the client has left')))
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = parseJson(Buffer.concat(chunks).toString('utf8')) as JsonObject
  const call = { signal: leaver.signal, requestId: 'request-1' }
  if (body['stream'] === true) return await answerStream(client, body, call, response, ends)
  const reply = request.url === '/v1/embeddings' ? await client.ask({ kind: 'embeddings', request: body, call }) : await client.ask({ kind: 'chat', request: body, call })
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(reply.body)
}

async function answerStream (client: ModelClient, body: JsonObject, call: CallOptions, response: ServerResponse, ends: StreamEnd[]): Promise<void> {
  const stream = await client.ask({ kind: 'stream', request: body, call })
  stream.ended.then(end => ends.push(end), () => {})
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  // A client that leaves is no error here: `ended` tells it.
  await pipeline(stream.events, response).catch(() => {})
}

function sendError (response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) return
  const headers = { 'content-type': 'application/json' }
  if (error instanceof UpstreamRefusal) response.writeHead(error.status, headers).end(JSON.stringify(error.body))
  else if (error instanceof ServiceError) response.writeHead(error.statusCode, { ...headers, ...error.headers }).end(JSON.stringify(openAiError(error.message, 'upstream_error', error.code)))
  else response.writeHead(500, headers).end(JSON.stringify(openAiError(String(error), 'internal_error', null)))
}
