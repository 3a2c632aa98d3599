import type { IncomingMessage } from 'node:http'
import type { WebSocket } from 'ws'
import type { paths } from '../../.build/api.d.ts'
import { targetNotFound } from '../base/errors.ts'
import { isJsonObject, type Json, type JsonObject, listOf, objectOf, parseJson, stringifyJson, textOf } from '../base/json.ts'
import { nodeHttp } from '../runtime/http-modules.ts'
import { fitsHeader } from '../base/text.ts'
import { MAX_EVENT_BYTES } from '../llm/model-client.ts'
import { transportError } from '../llm/upstream-error.ts'
import { EventScanner, type ServerSentEvent } from '../runtime/server-sent-events.ts'
import { CliError, EXIT, usageError } from './output.ts'

/** Wrong input: `EXIT.USAGE`; most other errors of 4xx end with `EXIT.NO`. */
const USAGE_CODES: ReadonlySet<string> = new Set(['REQUEST_INVALID', 'ARGUMENTS_INVALID', 'VARIABLE_MISSING', 'VARIABLES_INVALID'])

/** The same request may succeed later: a timeout, and too many requests. */
const LATER: ReadonlySet<number> = new Set([408, 429])

export class ApiError extends CliError {
  readonly status: number
  /** As in docs/errors.md; `''` for none. */
  readonly code: string
  readonly details: JsonObject

  constructor (exitCode: number, message: string, { status, code, details }: Pick<ApiError, 'status' | 'code' | 'details'>) {
    super(exitCode, message)
    this.status = status
    this.code = code
    this.details = details
  }
}

/** @param body in any of the service's three forms of errors (its own, of skills, OpenAI's), or anything else */
export function apiError (status: number, body: string, requestId: string | undefined): ApiError {
  const { message, code, details } = wordsOf(body)
  const facts = [code, requestId === undefined ? '' : `request ${requestId}`].filter(fact => fact !== '')
  // The routes of skills give no codes: 400 for wrong input, 404 for what does not exist.
  const exitCode = status === 400 && code === '' && message !== '' ? EXIT.USAGE : exitCodeOf(status, code)
  const words = message === '' ? `the service answered with status ${status}` : withNames(message, code, details)
  return new ApiError(exitCode, `${words}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`, { status, code, details })
}

function exitCodeOf (status: number, code: string): number {
  if (status === 401 || status === 403) return EXIT.TOKEN
  if (status < 400 || status >= 500 || LATER.has(status)) return EXIT.UNREACHABLE
  return USAGE_CODES.has(code) ? EXIT.USAGE : EXIT.NO
}

/** The routes of skills have the names that were perhaps meant in the details only. */
function withNames (message: string, code: string, details: JsonObject): string {
  const [near, offered] = [listOf(details['near']).map(textOf), listOf(details['offered']).map(textOf)]
  if (code === targetNotFound.code && textOf(details['name']) !== '') return targetNotFound(textOf(details['name']), near, offered).message
  const names = near.map(name => `"${name}"`)
  return names.length === 0 || names.some(name => message.includes(name)) ? message : `${message}; near matches: ${names.join(', ')}`
}

function wordsOf (body: string): { readonly message: string, readonly code: string, readonly details: JsonObject } {
  const value = objectIn(body)
  const { message = value['error'], code } = isJsonObject(value['error']) ? value['error'] : value
  return { message: textOf(message), code: textOf(code), details: objectOf(value['details']) }
}

function objectIn (body: string): JsonObject {
  try {
    return objectOf(parseJson(body))
  } catch {
    return {}
  }
}

/** In bytes; a larger one ends the command, so that it cannot fill the memory. */
const MAX_REPLY_BYTES = 64 * 1024 * 1024

interface ApiClientOptions {
  /** It may have a path, for a service behind a proxy. */
  readonly url: string
  /** `''` for none. */
  readonly token: string
  readonly signal: AbortSignal
  /** Asks the app in this process, in place of what listens at the address. */
  readonly inject?: (request: ApiRequest) => Promise<ApiResponse>
}

type Headers = Readonly<Record<string, string>>

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly text?: string
  readonly headers?: Headers
}

export type ApiResponse = AsyncIterable<Buffer> & Pick<IncomingMessage, 'statusCode' | 'headers'>

type Method = 'get' | 'post' | 'delete'

type PathOf<M extends Method> = { [P in keyof paths]: paths[P] extends Record<M, { readonly responses: object }> ? P : never }[keyof paths]

type Members<T> = [T] extends [never] ? unknown : T

/** Those of the path, and those of the query. */
type ParametersOf<Operation> = Operation extends { readonly parameters: { readonly path?: infer Path, readonly query?: infer Search } }
  ? Members<NonNullable<Path>> & Members<NonNullable<Search>>
  : never

type JsonContentOf<Answer> = Answer extends { readonly content: { readonly 'application/json': infer T } } ? T : never

type ReplyOf<Operation> = Operation extends { readonly responses: infer Answers } ? JsonContentOf<Answers[keyof Answers & (200 | 201 | 202)]> : never

export type ApiReply<M extends Method, P extends PathOf<M>> = ReplyOf<paths[P][M]>

type RowsOf<P extends string> = P extends PathOf<'get'> ? ApiReply<'get', P> : Json[]

/** A later write that names this tag is refused if somebody has changed the entry meanwhile. */
export interface TaggedReply {
  readonly json: Json
  /** With its quotes; `''` for a reply without the header. */
  readonly etag: string
}

/** Asks a service, wherever it runs; over HTTP by Node's own client, which loads in a tenth of undici's time. Methods throw CliError. */
export class ApiClient {
  readonly #base: URL
  readonly #options: ApiClientOptions

  /** @throws CliError for an address or a token that cannot be used */
  constructor (options: ApiClientOptions) {
    this.#base = parseAddress(options.url)
    this.#options = options
    if (!fitsHeader(options.token)) throw usageError('APS_TOKEN holds characters that no header may hold, such as a line end')
  }

  /** Without a slash at its end, so that two spellings of one address are equal. */
  get url (): string {
    return this.#base.href.replace(/\/$/, '')
  }

  get hasToken (): boolean {
    return this.#options.token !== ''
  }

  /** With the parameters and the reply of `openapi/openapi.json`. */
  async ask<M extends Method, P extends PathOf<M>> (
    method: M,
    path: P,
    parameters: ParametersOf<paths[P][M]> & object,
    body?: object,
    headers: Headers = {}
  ): Promise<ApiReply<M, P>> {
    const search = new Map(Object.entries<unknown>({ ...parameters }).flatMap(([name, value]) => value === undefined ? [] : [[name, String(value)]]))
    const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
      const value = search.get(name) ?? ''
      search.delete(name)
      return encodeURIComponent(value)
    })
    const text = body === undefined ? undefined : stringifyJson(body)
    const target = search.size === 0 ? filled : `${filled}?${new URLSearchParams([...search]).toString()}`
    const reply = await readJson(await this.#open({ method: method.toUpperCase() as Uppercase<M>, path: target, text, headers }), this.#base)
    if (!isJsonObject(reply)) throw strangeReply(this.#base)
    return reply as ApiReply<M, P>
  }

  async get (path: string): Promise<Json> {
    return readJson(await this.#open({ method: 'GET', path }), this.#base)
  }

  async getTagged (path: string): Promise<TaggedReply> {
    const response = await this.#open({ method: 'GET', path })
    return { json: await readJson(response, this.#base), etag: response.headers.etag ?? '' }
  }

  async post (path: string, body: object, headers: Headers = {}): Promise<Json> {
    return readJson(await this.#open({ method: 'POST', path, text: stringifyJson(body), headers }), this.#base)
  }

  /** @param text sent byte for byte, as JSON unless the headers say another content type */
  async put (path: string, text: string, headers: Headers = {}): Promise<TaggedReply & { readonly isNew: boolean }> {
    const response = await this.#open({ method: 'PUT', path, text, headers })
    return { json: await readJson(response, this.#base), etag: response.headers.etag ?? '', isNew: response.statusCode === 201 }
  }

  /** `null` for a reply without a body. */
  async delete (path: string, headers: Headers = {}): Promise<Json> {
    const text = await readText(await this.#open({ method: 'DELETE', path, headers }), this.#base)
    return text === '' ? null : parseJson(text)
  }

  async list<P extends string> (path: P, query: Query = {}): Promise<RowsOf<P>> {
    const rows: Json[] = []
    for await (const page of this.pages(path, query)) {
      if (!Array.isArray(page)) throw strangeReply(this.#base)
      rows.push(...page as readonly Json[])
    }
    return rows as RowsOf<P>
  }

  async * pages (path: string, query: Query = {}): AsyncGenerator<Json, void> {
    let after: string | undefined
    do {
      const response = await this.#open({ method: 'GET', path: `${path}?${searchOf({ ...query, after })}` })
      yield await readJson(response, this.#base)
      after = nextAfter(response.headers.link)
    } while (after !== undefined)
  }

  /** Throws when the connection breaks. @param body makes the request a POST */
  async * events (path: string, body?: object): AsyncGenerator<ServerSentEvent, void> {
    const response = await this.#open(body === undefined ? { method: 'GET', path } : { method: 'POST', path, text: stringifyJson(body) })
    if (response.headers['content-type']?.startsWith('text/event-stream') !== true) throw strangeReply(this.#base)
    const scanner = new EventScanner(MAX_EVENT_BYTES, event => event)
    try {
      for await (const chunk of response) yield * scanner.feed(chunk)
    } catch (error) {
      throw this.#unreachable(error as Error)
    }
  }

  /** Perhaps not connected yet. */
  async socket (path: string): Promise<WebSocket> {
    const { token, signal } = this.#options
    const { WebSocket: Socket } = await import('ws')
    const url = new URL(`${this.#base.pathname.replace(/\/$/, '')}${path}`, this.#base)
    url.protocol = this.#base.protocol === 'https:' ? 'wss:' : 'ws:'
    const socket = new Socket(url, token === '' ? {} : { headers: { authorization: `Bearer ${token}` } })
    signal.addEventListener('abort', () => { socket.terminate() }, { once: true })
    return socket
  }

  async refusal (error: Error, reply: IncomingMessage | undefined): Promise<CliError> {
    if (reply === undefined) return this.#unreachable(error)
    return apiError(reply.statusCode ?? 0, await readText(reply, this.#base), reply.headers['x-request-id']?.toString())
  }

  /** @returns with a body still to be read @throws CliError for a status other than 2xx */
  async #open (request: ApiRequest): Promise<ApiResponse> {
    const { inject } = this.#options
    const response = await (inject === undefined ? this.#send(request) : inject(request)).catch((error: Error) => { throw this.#unreachable(error) })
    const { statusCode: status = 0, headers } = response
    if (status >= 200 && status <= 299) return response
    throw apiError(status, await readText(response, this.#base), inject === undefined ? headers['x-request-id']?.toString() : undefined)
  }

  async #send ({ method, path, text, headers: more }: ApiRequest): Promise<IncomingMessage> {
    const { token, signal } = this.#options
    const { protocol, hostname, port, pathname } = this.#base
    const sent = text === undefined ? undefined : Buffer.from(text)
    const headers = {
      accept: 'application/json, text/event-stream',
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(sent === undefined ? {} : { 'content-type': 'application/json', 'content-length': sent.length }),
      ...more
    }
    // Loading Node's TLS takes as long as the rest of the command line: for https only.
    const send = protocol === 'https:' ? (await import('node:https')).request : nodeHttp.request
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    // Sent as it is: the URL class would read an id `..` as the parent folder.
    const target = `${pathname.replace(/\/$/, '')}${path}`
    return await new Promise((resolve, reject) => {
      send({ method, hostname: host, port, path: target, headers, signal }, resolve).on('error', reject).end(sent)
    })
  }

  #unreachable (error: Error): CliError {
    if (error instanceof CliError) return error
    return new CliError(EXIT.UNREACHABLE, `${this.#base.href} does not answer: ${transportError(error).summary}; --url or APS_URL says where the service is`)
  }
}

/** A member that is undefined is not sent. */
type Query = Readonly<Record<string, string | undefined>>

export function searchOf (query: Query): string {
  return new URLSearchParams(Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined)).toString()
}

/** Ids may contain any character. */
export function apiPath (...segments: readonly string[]): string {
  return `/${segments.map(encodeURIComponent).join('/')}`
}

function parseAddress (address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw usageError('--url or APS_URL: expected an address such as http://127.0.0.1:8080')
  if (url.username !== '' || url.password !== '') throw usageError('--url or APS_URL: expected an address without credentials; a token goes into APS_TOKEN')
  return url
}

async function readJson (response: ApiResponse, base: URL): Promise<Json> {
  const text = await readText(response, base)
  try {
    return parseJson(text)
  } catch {
    throw strangeReply(base)
  }
}

async function readText (response: ApiResponse, base: URL): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of response) {
      bytes += chunk.length
      if (bytes > MAX_REPLY_BYTES) throw new CliError(EXIT.UNREACHABLE, `the reply of ${base.href} is larger than ${MAX_REPLY_BYTES} bytes`)
      chunks.push(chunk)
    }
  } catch (error) {
    throw error instanceof CliError ? error : new CliError(EXIT.UNREACHABLE, `the reply of ${base.href} was cut: ${transportError(error as Error).summary}`)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function strangeReply (base: URL): CliError {
  return new CliError(EXIT.UNREACHABLE, `what answers at ${base.href} is no ai-prompt-shell`)
}

/** Only the link's query is used (RFC 8288): behind a proxy its host may be unknown here. */
function nextAfter (link: string | string[] | undefined): string | undefined {
  const [, target = ''] = /<([^<>]*)>;\s*rel="next"/.exec([link ?? ''].flat().join(', ')) ?? []
  return new URLSearchParams(target.replace(/^[^?]*/, '')).get('after') ?? undefined
}
