import { type Dispatcher } from 'undici'
import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { type BaseUrls } from '../definition/base-urls.ts'
import { type Attempt, type Connector, identify, type Reply } from '../connector.ts'
import { type RestfulDefinition } from './restful-definition.ts'
import { type ResolvedHeaders, resolveHeaders } from '../definition/headers.ts'
import { undici } from '../../runtime/undici.ts'
import { type HttpAgent } from './http-agent.ts'
import { readRefusal, readReply } from './http-reply.ts'
import { type Secrets } from '../definition/secrets.ts'
import { quoteOf, statusError, ToolError } from '../call/tool-error.ts'
import { unreachable } from '../unreachable.ts'
import { appendQuery, fillUrl } from './url-template.ts'

const BODILESS = new Set(['GET', 'DELETE'])

/**
 * Makes the connector (the way to call a tool) for a tool over HTTP. Arguments fill the placeholders in the URL; the others go into the
 * query or the JSON body. A redirect counts as a failure: if a reply could choose the next address, it could get around the egress
 * policy, and around the hosts that secrets are bound to. An internal API that moves has to be registered again.
 */
export function createRestfulConnector (definition: RestfulDefinition, agent: HttpAgent, baseUrls: BaseUrls, secrets: Secrets): Connector {
  async function call (values: JsonObject, attempt: Attempt): Promise<Reply> {
    const { signal } = attempt
    const base = await baseOf(definition, baseUrls, signal)
    const request = describeRequest(definition, base, values)
    const { headers, secrets: used } = resolveHeaders(definition.headers, secrets, base.host)
    const identity = definition.method === 'GET' ? identify(attempt) : { ...identify(attempt), 'idempotency-key': attempt.idempotencyKey }
    return { value: await send(request, { ...identity, ...headers }, used, signal), secrets: used }
  }

  async function send (request: Request, headers: ResolvedHeaders['headers'], used: readonly string[], signal: AbortSignal) {
    const pool = await agent.get()
    let response: Dispatcher.ResponseData
    try {
      // Compressed replies are refused, since a small one can unpack to any size, so the request asks for none.
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
      // The rest of the body is of no use, so the connection is closed.
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
