import { type JSONRPCMessage, type StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
import { ReadableStream } from 'node:stream/web'
import { setTimeout as delay } from 'node:timers/promises'
import { type HeadersInit } from 'undici'
import { type HttpAgent } from '../rest/http-agent.ts'
import { McpExchange } from './mcp-exchange.ts'
import { ReconnectPace } from './reconnect-pace.ts'
import { ToolError } from '../call/tool-error.ts'

type SendOptions = NonNullable<Parameters<StreamableHTTPClientTransport['send']>[1]>

/** The name of a header by which `fetch` learns which request it sends, since the SDK does not say so. It is removed before the request is sent. */
const EXCHANGE = 'x-mcp-exchange'

/**
 * Makes the transport to an MCP server over streamable HTTP. When a reply ends without the answer, the SDK would wait until the request's
 * deadline. In this transport `send` fails at once then, after the SDK has resumed what can be resumed:
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
 */
export async function createHttpTransport (url: URL, headers: Readonly<Record<string, string>>, agent: HttpAgent, maxReply: number): Promise<Transport> {
  const { isJSONRPCNotification, isJSONRPCRequest, isJSONRPCResponse, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const { fetch: fetchWithUndici, Headers } = await import('undici')
  const dispatcher = await agent.get()
  const exchanges = new Map<string, McpExchange>()
  const pace = new ReconnectPace()

  class AnsweringTransport extends StreamableHTTPClientTransport {
    override async send (message: JSONRPCMessage, options: SendOptions = {}): Promise<void> {
      if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') exchanges.get(String(message.params?.['requestId']))?.cancel()
      if (!isJSONRPCRequest(message)) return super.send(message, options)
      const id = String(message.id)
      const exchange = new McpExchange(options.requestSignal)
      exchanges.set(id, exchange)
      try {
        await super.send(message, watched(options, id, exchange))
        await exchange.wait()
      } finally {
        exchanges.delete(id)
      }
    }
  }

  const transport = new AnsweringTransport(url, {
    // Redirects are failures, as with tools over HTTP: a reply must not choose the next address.
    requestInit: { headers, redirect: 'error' },
    fetch: async (address, init) => {
      const sent = new Headers(init?.headers as HeadersInit)
      const exchange = findExchange(exchanges, sent.get(EXCHANGE), sent.get('last-event-id'))
      sent.delete(EXCHANGE)
      if (init?.method === 'GET') await delay(pace.next(), undefined, { signal: init.signal ?? undefined, ref: false })
      const response = await fetchWithUndici(address, { ...init as object, headers: sent, dispatcher })
      return receive(response as unknown as Response, maxReply, exchange)
    }
  })
  transport.onmessage = message => { if (isJSONRPCResponse(message)) exchanges.get(String(message.id))?.answer() }
  return transport
}

/** Extends the options of a request, so that the SDK tells the exchange (the request with its reply) how far the reply has come. */
function watched (options: SendOptions, id: string, exchange: McpExchange): SendOptions {
  return {
    ...options,
    headers: { ...options.headers, [EXCHANGE]: id },
    requestSignal: exchange.signal,
    onresumptiontoken (token) {
      exchange.lastEvent = token
      options.onresumptiontoken?.(token)
    },
    onRequestStreamEnd () {
      exchange.end()
      options.onRequestStreamEnd?.()
    }
  }
}

/** Finds the exchange of a request by the request's id. For a stream that continues a reply, it is found by the id of the last event that arrived. */
function findExchange (exchanges: ReadonlyMap<string, McpExchange>, id: string | null, lastEvent: string | null): McpExchange | undefined {
  if (id !== null) return exchanges.get(id)
  return lastEvent === null ? undefined : [...exchanges.values()].find(exchange => exchange.lastEvent === lastEvent)
}

/**
 * Copies a response. Reading the body of the copy fails when it becomes larger than `limit` bytes. When that happens to the server's stream
 * of notifications, the transport opens a new one.
 */
function receive (response: Response, limit: number, exchange: McpExchange | undefined): Response {
  if (response.body === null) return response
  const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
  const bytes = bounded(response.body as unknown as AsyncIterable<Uint8Array>, limit)
  const body = ReadableStream.from(exchange !== undefined && isStream ? exchange.watch(bytes) : bytes) as unknown as Response['body']
  return new Response(body, { status: response.status, statusText: response.statusText, headers: response.headers })
}

async function * bounded (body: AsyncIterable<Uint8Array>, limit: number): AsyncGenerator<Uint8Array> {
  let left = limit
  for await (const chunk of body) {
    left -= chunk.byteLength
    if (left < 0) throw new ToolError('REPLY_TOO_LARGE', 'sent a reply that is too large')
    yield chunk
  }
}
