import type { Dispatcher } from 'undici'
import { type Json, JsonError, type JsonObject, ownField, parseJson, stringifyJson } from '../base/json.ts'
import { undici } from '../runtime/http-modules.ts'
import { quoteOf, statusError, ToolError, unreachable } from './tool-error.ts'
import { singleSource, type ToolType } from './tool-type.ts'
import { type Attempt, type Connector, identify, type AttemptReply } from './preparation.ts'
import type { BaseUrls, Operator } from './operator.ts'
import {
  appendQuery, type CommonDefinition, fillUrl, parseUrlTemplate, resolveHeaders, type Secrets, type ToolDefinition, type UrlTemplate
} from './definition.ts'
import { withMemberName, checkHost, policyOf, required } from './tool-reader.ts'
import { expectsStructure, type Parameters } from './parameters.ts'
import { createHttpAgent, type HttpAgent } from './connections.ts'

export interface RestfulDefinition extends ToolDefinition {
  readonly method: typeof METHODS[number]
  readonly url: UrlTemplate
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

function parseRestful (common: CommonDefinition, endpoint: JsonObject, operator: Operator): RestfulDefinition {
  const text = required(endpoint, 'url', 'restful')
  const method = METHODS.find(each => each === (ownField(endpoint, 'method') ?? 'POST'))
  if (method === undefined) throw new Error(`method "${String(ownField(endpoint, 'method'))}" must be one of ${METHODS.join(', ')}`)
  const url = withMemberName('url', () => parseUrlTemplate(text))
  if (url.origin !== undefined) checkHost(new URL(url.origin).host, common, operator)
  return { ...common, type: 'restful', isRelative: url.origin === undefined, url, method, policy: policyOf(common, method === 'GET') }
}

/** HTML is refused: it mostly comes from a gateway or login page. @throws ToolError, or the error of the connection */
async function readReply ({ headers, body }: Dispatcher.ResponseData, returns: Parameters | undefined): Promise<Json> {
  const encoding = headers['content-encoding']
  // Without case: https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1
  if (encoding !== undefined && String(encoding).toLowerCase() !== 'identity') {
    throw new ToolError('REPLY_INVALID', `sent a compressed reply (${String(encoding)}) that was not asked for`)
  }
  const declared = String(headers['content-type'] ?? '')
  const type = (declared.split(';')[0] as string).trim().toLowerCase()
  const bytes = await body.bytes()
  if (bytes.length === 0) return null
  const isJson = type === 'application/json' || type.endsWith('+json')
  if (!isJson && !isText(type)) throw new ToolError('REPLY_INVALID', `sent a reply of type "${type}" instead of JSON or text`)
  const text = decode(bytes, /charset="?([\w-]+)/i.exec(declared)?.[1] ?? 'utf-8')
  // Go's net/http labels JSON as text/plain unless the handler says otherwise, so the declared schema of the reply decides.
  return isJson || expectsStructure(returns) ? parseReply(text) : text
}

/** In bytes; the wait in ms. */
const MAX_REFUSAL = 16_384
const REFUSAL_PATIENCE = 1000

async function readRefusal ({ headers, body }: Dispatcher.ResponseData): Promise<string> {
  const type = String(headers['content-type'] ?? '').toLowerCase()
  if (headers['content-encoding'] !== undefined || !/^(?:text\/(?!html)|application\/(?:[\w.-]{1,50}\+)?json)|^$/.test(type)) return ''
  const late = setTimeout(() => body.destroy(), REFUSAL_PATIENCE)
  const chunks: Buffer[] = []
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      if (chunks.reduce((length, each) => length + each.length, 0) >= MAX_REFUSAL) break
    }
  } catch {
  }
  clearTimeout(late)
  return Buffer.concat(chunks).subarray(0, MAX_REFUSAL).toString()
}

function isText (type: string): boolean {
  return type === '' || (type.startsWith('text/') && type !== 'text/html')
}

function decode (bytes: Uint8Array, charset: string): string {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes)
  } catch {
    throw new ToolError('REPLY_INVALID', `sent a reply that is not valid ${charset}`)
  }
}

function parseReply (text: string): Json {
  try {
    return parseJson(text)
  } catch (error) {
    // The parser's message can quote the reply, which can hold a secret, so only the place is shown.
    throw new ToolError('REPLY_INVALID', `sent broken JSON${error instanceof JsonError ? /( at line.*)?$/.exec(error.message)?.[0] ?? '' : ''}`)
  }
}

const BODILESS = new Set(['GET', 'DELETE'])

/** A redirect is a failure: a reply that chose the next address could get around the egress policy and the secrets' hosts. */
function createRestfulConnector (definition: RestfulDefinition, agent: HttpAgent, baseUrls: BaseUrls, secrets: Secrets): Connector {
  async function call (values: JsonObject, attempt: Attempt): Promise<AttemptReply> {
    const { signal } = attempt
    const base = await baseOf(definition, baseUrls, signal)
    const request = describeRequest(definition, base, values)
    const { headers, secrets: used } = resolveHeaders(definition.headers, secrets, base.host)
    const identity = definition.method === 'GET' ? identify(attempt) : { ...identify(attempt), 'idempotency-key': attempt.idempotencyKey }
    return { value: await send(request, { ...identity, ...headers }, used, signal), secrets: used }
  }

  async function send (request: Request, headers: Readonly<Record<string, string>>, used: readonly string[], signal: AbortSignal) {
    const pool = await agent.get()
    let response: Dispatcher.ResponseData
    try {
      // A small compressed reply can unpack to any size, so the request asks for none.
      response = await undici.request().call(pool, {
        ...request,
        signal,
        headers: { accept: 'application/json, text/*;q=0.9', ...headers, 'accept-encoding': 'identity', ...request.headers }
      })
    } catch (error) {
      throw toToolError(error, signal)
    }
    try {
      await checkStatus(response, used)
      return await readReply(response, definition.returns)
    } catch (error) {
      response.body.on('error', () => {}).destroy()
      throw toToolError(error, signal)
    }
  }

  return { call, attempted: agent.get().then(() => {}), state: () => 'ready', close: async () => {} }
}

interface Request {
  readonly origin: string
  readonly path: string
  readonly method: RestfulDefinition['method']
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

async function baseOf ({ url, module }: RestfulDefinition, baseUrls: BaseUrls, signal: AbortSignal): Promise<URL> {
  if (url.origin !== undefined) return new URL(url.origin)
  const base = await baseUrls.of(module, signal)
  if (base.protocol === 'http:' || base.protocol === 'https:') return base
  throw new ToolError('BASE_URL_MISSING', `the base URL of module "${module ?? ''}" is not for HTTP`)
}

function describeRequest ({ url, method }: RestfulDefinition, base: URL, values: JsonObject): Request {
  const path = base.pathname.replace(/\/$/, '') + fillUrl(url, values)
  const rest = Object.fromEntries(Object.entries(values).filter(([name]) => !url.placeholders.includes(name)))
  return BODILESS.has(method)
    ? { origin: base.origin, method, path: appendQuery(path, rest, stringifyJson), headers: {}, body: null }
    : { origin: base.origin, method, path, headers: { 'content-type': 'application/json' }, body: stringifyJson(rest) }
}

async function checkStatus (response: Dispatcher.ResponseData, secrets: readonly string[]): Promise<void> {
  const { statusCode } = response
  if (statusCode >= 200 && statusCode < 300) return
  const what = statusCode >= 300 && statusCode < 400 ? `answered with a redirect (${statusCode}), which is not followed` : `answered with status ${statusCode}`
  throw statusError(statusCode, what, quoteOf(await readRefusal(response), secrets))
}

function toToolError (error: unknown, signal: AbortSignal): ToolError {
  if (signal.aborted) return signal.reason as ToolError
  if ((error as { code?: unknown }).code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return new ToolError('REPLY_TOO_LARGE', 'sent a reply that is too large')
  return unreachable(error)
}

export const restfulType: ToolType<RestfulDefinition> = {
  name: 'restful',
  parse: parseRestful,
  connect (resources) {
    const { operator, maxReply } = resources
    const agent = createHttpAgent(operator.egress, operator.tls, { maxResponseSize: maxReply })
    return {
      open: definition => singleSource(definition, createRestfulConnector(definition, agent, operator.baseUrls, operator.secrets), resources),
      close: () => agent.close()
    }
  }
}
