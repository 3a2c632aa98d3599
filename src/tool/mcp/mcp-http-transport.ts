import { setTimeout as delay } from 'node:timers/promises'
import type { JSONRPCMessage, JSONRPCRequest, Transport, TransportSendOptions } from '@modelcontextprotocol/client'
import type { BodyInit, Response } from 'undici'
import { isJsonObject, type Json } from '../../base/json.ts'
import { EventScanner } from '../../runtime/server-sent-events.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import { ToolError, unreachable } from '../tool-error.ts'
import type { HttpAgent } from '../connections.ts'
import { FloodError, McpInbox } from './mcp-messages.ts'

/** In ms; a stream that ends sooner counts as a failure. */
const STABLE = 5000

/** In ms, after one failure more than `FREE`; it doubles up to `MAX_DELAY`. */
const FIRST_DELAY = 500
const MAX_DELAY = 60_000

/** A few failures are usual: a server can end a stream early. */
const FREE = 2

/** The SDK waits only as long as the server says: with `retry: 1` it would send a thousand requests a second. */
export class ReconnectPace {
  readonly #now: () => number
  #openedAt = -Infinity
  #failures = 0

  constructor (now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** In ms. The life of the next stream counts from the end of the delay. */
  next (): number {
    const now = this.#now()
    this.#failures = now - this.#openedAt < STABLE ? this.#failures + 1 : 0
    const delay = this.#failures <= FREE ? 0 : Math.min(FIRST_DELAY * 2 ** (this.#failures - FREE - 1), MAX_DELAY)
    this.#openedAt = now + delay
    return delay
  }
}

const MAX_RESUMPTIONS = 2

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

interface StreamPosition { lastEvent: string | undefined, retry: number }

/**
 * The transport to an MCP server over streamable HTTP, https://modelcontextprotocol.io/specification/2025-11-25/basic/transports. It differs from the one
 * of the MCP library in what it demands of a server: a reply that ends without its answer fails at once instead of at its deadline, replies are
 * bounded, messages are counted (`McpInbox`) before they are looked at, and one that takes long does not keep the process from other work.
 * A redirect is a failure, as with tools over HTTP: a reply must not choose the next address.
 */
export class McpHttpTransport implements Transport {
  readonly hasPerRequestStream = true
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  sessionId?: string | undefined

  readonly #url: URL
  readonly #headers: Readonly<Record<string, string>>
  readonly #agent: HttpAgent
  readonly #maxReply: number
  readonly #inbox: McpInbox
  readonly #closing = new AbortController()
  /** A call that is given up keeps no stream open. */
  readonly #waiting = new Map<string, AbortController>()
  readonly #pace = new ReconnectPace()
  #version: string | undefined

  /** `maxReply` is in bytes, for a reply or for one event of a stream. */
  constructor (url: URL, headers: Readonly<Record<string, string>>, agent: HttpAgent, maxReply: number) {
    this.#url = url
    this.#headers = headers
    this.#agent = agent
    this.#maxReply = maxReply
    this.#inbox = new McpInbox(maxReply, message => this.onmessage?.(message))
  }

  get ended (): ToolError | undefined {
    return this.#closing.signal.aborted ? this.#closing.signal.reason as ToolError : undefined
  }

  async start (): Promise<void> {}

  setProtocolVersion (version: string): void {
    this.#version = version
  }

  async close (): Promise<void> {
    this.#end(new ToolError('UNREACHABLE', 'the connection was closed', { transient: true }))
  }

  async send (message: JSONRPCMessage, { headers = {}, requestSignal }: TransportSendOptions = {}): Promise<void> {
    this.#closing.signal.throwIfAborted()
    try {
      if ('method' in message && 'id' in message) await this.#ask(message, headers, requestSignal)
      else await this.#tell(message)
    } catch (error) {
      if (error instanceof FloodError) this.#end(error)
      throw this.#closing.signal.aborted ? this.#closing.signal.reason : error
    }
  }

  #end (reason: ToolError): void {
    if (this.#closing.signal.aborted) return
    this.#closing.abort(reason)
    this.onclose?.()
  }

  async #tell (message: JSONRPCMessage): Promise<void> {
    const method = 'method' in message ? message.method : undefined
    if (method === 'notifications/cancelled') this.#waiting.get(String((message as { params?: { requestId?: unknown } }).params?.requestId))?.abort()
    const response = await this.#post(message, {}, this.#closing.signal)
    const text = await this.#text(response)
    if (!response.ok) throw await httpError(response, text)
    if (method === 'notifications/initialized' && response.status === 202) void this.#follow()
  }

  async #ask (request: JSONRPCRequest, headers: Readonly<Record<string, string>>, requestSignal: AbortSignal | undefined): Promise<void> {
    const { id } = request
    const cancelled = new AbortController()
    const signal = AbortSignal.any([this.#closing.signal, cancelled.signal, ...(requestSignal === undefined ? [] : [requestSignal])])
    this.#waiting.set(String(id), cancelled)
    this.#inbox.ask(id)
    try {
      const response = await this.#post(request, headers, signal)
      if (!response.ok) return this.#refused(request, response, await this.#text(response))
      if (request.method === 'initialize') this.sessionId = response.headers.get('mcp-session-id') ?? undefined
      const type = mediaType(response)
      if (type === 'text/event-stream') await this.#readAnswer(id, response, signal)
      else if (type === 'application/json') this.#inbox.take(await this.#text(response))
      else await unexpectedContent(response, type)
      if (this.#inbox.isAsked(id)) throw new ToolError('REPLY_INVALID', 'ended its reply without an answer')
    } finally {
      this.#waiting.delete(String(id))
      this.#inbox.forget(id)
    }
  }

  async #readAnswer (id: string | number, response: Response, signal: AbortSignal): Promise<void> {
    const position: StreamPosition = { lastEvent: undefined, retry: 1000 }
    let stream = response
    for (let resumptions = 0, loss: unknown; ; resumptions++) {
      loss = await this.#read(stream, position, signal).then(() => undefined, (error: unknown) => error)
      signal.throwIfAborted()
      if (loss instanceof FloodError) throw loss
      if (!this.#inbox.isAsked(id)) return
      const isOver = position.lastEvent === undefined || resumptions === MAX_RESUMPTIONS || (loss instanceof ToolError && loss.code === 'REPLY_TOO_LARGE')
      if (isOver && loss !== undefined) throw unreachable(loss)
      if (isOver) return
      await delay(position.retry, undefined, { signal, ref: false })
      stream = await this.#get(position.lastEvent, signal)
      if (stream.ok) continue
      await stream.body?.cancel()
      if (loss !== undefined) throw unreachable(loss)
      return
    }
  }

  async #follow (): Promise<void> {
    const { signal } = this.#closing
    const position: StreamPosition = { lastEvent: undefined, retry: 1000 }
    try {
      for (;;) {
        const stream = await this.#get(position.lastEvent, signal)
        if (stream.status >= 400 && stream.status < 500) return await stream.body?.cancel()
        await this.#read(stream, position, signal)
        await delay(position.retry, undefined, { signal, ref: false })
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof FloodError) return this.#end(error)
      if (error instanceof ToolError && error.code === 'REPLY_TOO_LARGE') return this.#end(new FloodError(error.message))
      this.onerror?.(error as Error)
      await delay(position.retry, undefined, { ref: false })
      if (!signal.aborted) void this.#follow()
    }
  }

  async #read (response: Response, position: StreamPosition, signal: AbortSignal): Promise<void> {
    const scanner = new EventScanner(this.#maxReply, event => event, () => new ToolError('REPLY_TOO_LARGE', 'sent a reply that is too large'))
    const slices = createSlices()
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      for (const { data = '', name, id, retry } of scanner.feed(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))) {
        if (id !== undefined && id !== '') position.lastEvent = id
        position.retry = retry ?? position.retry
        if (data === '' || (name !== '' && name !== 'message')) this.#inbox.count()
        else this.#takeEvent(data)
        if (slices.isDue()) await slices.pause()
        signal.throwIfAborted()
      }
    }
  }

  /** A broken event is passed over: the answer may still come. */
  #takeEvent (data: string): void {
    try {
      this.#inbox.take(data)
    } catch (error) {
      if (error instanceof FloodError) throw error
      this.#inbox.count()
      this.onerror?.(error as Error)
    }
  }

  /** An error of JSON-RPC for this very request is its answer; any other refusal is a failure of HTTP. */
  async #refused ({ id }: JSONRPCRequest, response: Response, text: string): Promise<void> {
    const body = errorIn(text)
    if (response.status !== 400 || body === undefined || String(body.id) !== String(id)) throw await httpError(response, text)
    this.#inbox.take(text)
  }

  async #post (message: JSONRPCMessage, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
    return await this.#fetch({
      method: 'POST',
      headers: { ...headers, ...headersOf(message), 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify(message)
    }, signal, 'method' in message && message.method === 'initialize')
  }

  async #get (lastEvent: string | undefined, signal: AbortSignal): Promise<Response> {
    await delay(this.#pace.next(), undefined, { signal, ref: false })
    return await this.#fetch({
      method: 'GET',
      headers: { accept: 'text/event-stream', ...(lastEvent === undefined ? {} : { 'last-event-id': lastEvent }) }
    }, signal, false)
  }

  async #fetch (
    { method, headers, body = null }: { method: string, headers: Readonly<Record<string, string>>, body?: BodyInit },
    signal: AbortSignal,
    isHandshake: boolean
  ): Promise<Response> {
    const { fetch } = await import('undici')
    return await fetch(this.#url, {
      method,
      body,
      signal,
      redirect: 'error',
      dispatcher: await this.#agent.get(),
      headers: {
        ...this.#headers,
        ...(this.sessionId === undefined || isHandshake ? {} : { 'mcp-session-id': this.sessionId }),
        ...(this.#version === undefined ? {} : { 'mcp-protocol-version': this.#version }),
        ...headers
      }
    })
  }

  async #text (response: Response): Promise<string> {
    const chunks: Uint8Array[] = []
    let left = this.#maxReply
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      left -= chunk.byteLength
      if (left < 0) throw new ToolError('REPLY_TOO_LARGE', 'sent a reply that is too large')
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString()
  }
}

function headersOf (message: JSONRPCMessage): Readonly<Record<string, string>> {
  if (!('method' in message)) return {}
  const { method, params } = message as { method: string, params?: { _meta?: Record<string, unknown>, name?: unknown } }
  const version = params?._meta?.[VERSION_KEY]
  if (typeof version !== 'string') return {}
  const name: Readonly<Record<string, string>> = method === 'tools/call' && typeof params?.name === 'string' ? { 'mcp-name': encodeHeader(params.name) } : {}
  return { 'mcp-protocol-version': version, 'mcp-method': method, ...name }
}

function encodeHeader (text: string): string {
  const isPlain = /^[!-~](?:[ -~]*[!-~])?$/.test(text) && !text.startsWith('=?base64?')
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`
}

function mediaType (response: Response): string {
  return (response.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
}

async function unexpectedContent (response: Response, type: string): Promise<never> {
  await response.body?.cancel()
  const { SdkError, SdkErrorCode } = await import('@modelcontextprotocol/client')
  throw new SdkError(SdkErrorCode.ClientHttpUnexpectedContent, `Unexpected content type: ${type}`)
}

/** By this error of its own transport the MCP library learns a server's version. */
async function httpError ({ status, statusText }: Response, text: string): Promise<Error> {
  const { SdkErrorCode, SdkHttpError } = await import('@modelcontextprotocol/client')
  return new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, `status ${status}`, { status, statusText, text })
}

export function errorIn (text: string): { readonly id: Json, readonly code: number, readonly message: string } | undefined {
  let body: Json
  try {
    body = JSON.parse(text) as Json
  } catch {
    return undefined
  }
  if (!isJsonObject(body) || !isJsonObject(body['error'])) return undefined
  const { code, message } = body['error']
  return typeof code === 'number' && typeof message === 'string' ? { id: body['id'] ?? null, code, message } : undefined
}
