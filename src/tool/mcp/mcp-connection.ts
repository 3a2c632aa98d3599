import { type Client, type Request, type RequestOptions, type StandardSchemaV1 } from '@modelcontextprotocol/client'
import { holdsBigint, type Json, type JsonObject } from '../../base/json.ts'
import { type Attempt } from '../connector.ts'
import { type McpServer } from './mcp-definition.ts'
import { createThrottle } from '../../runtime/throttle.ts'
import { createMcpTransport, type McpTransport, type McpTransportOptions } from './mcp-transport.ts'
import { createPreparation, type Preparation, type PreparationState } from '../call/preparation.ts'
import { errorIn } from './mcp-http-transport.ts'
import { type Offer, readOffer } from './mcp-offer.ts'
import { FloodError } from './mcp-inbox.ts'
import { quoteOf, statusError, ToolError } from '../call/tool-error.ts'
import { unreachable } from '../unreachable.ts'

/** The most tools of one server that are used, and the most pages of its list that are asked for. */
const MAX_TOOLS = 500
const MAX_PAGES = 64

/** The time limit for learning a server's protocol version, in ms: old servers perhaps do not answer at all. */
const PROBE_TIMEOUT = 2000

/** The shortest time between two listings of a server's tools, in ms, however often the server says that they have changed. */
const LISTING_INTERVAL = 5000

/** The time limit of a call that has no deadline, and of a listing, in ms. */
const CALL_TIMEOUT = 60_000

/** The time for which a server that has sent too much is left alone at least, in ms. */
const FLOOD_PAUSE = 10_000

/** The connection to one MCP server, with its session, which all tools of the server share. It is opened once, and again when the session is lost. */
export interface McpConnection {
  /** What the server has listed last; `undefined` before the first listing. */
  offer (): Offer | undefined
  /** Calls `listener` each time that the server has listed its tools. @returns the function that ends this */
  watch (listener: () => void): () => void
  /** Calls a tool of the server. @returns the result as the server sent it @throws ToolError */
  call (name: string, values: JsonObject, attempt: Attempt): Promise<JsonObject>
  readonly attempted: Promise<void>
  state (): PreparationState
  close (): Promise<void>
}

export interface McpConnectionOptions extends McpTransportOptions {
  readonly server: McpServer
  readonly headers: Readonly<Record<string, string>>
  /** The secrets in the headers, which are removed from the server's texts. */
  readonly secrets: readonly string[]
  readonly failed: (error: Error) => void
}

/** An open session. */
interface Session { readonly client: Client, readonly transport: McpTransport }

/** Connects to an MCP server: over streamable HTTP, or to a process that is started here. */
export function createMcpConnection (options: McpConnectionOptions): McpConnection {
  const listeners = new Set<() => void>()
  let offer: Offer | undefined

  function learn (listed: Offer): void {
    offer = listed
    for (const listener of listeners) listener()
  }

  const preparation: Preparation<Session> = createPreparation({
    prepare: async signal => {
      const { session, listed } = await connect(options, learn, signal)
      const { client, transport } = session
      client.onclose = () => {
        const { ended } = transport
        if (ended instanceof FloodError) options.failed(ended)
        preparation.renew(session, ended?.message ?? 'the connection was lost', ended instanceof FloodError ? FLOOD_PAUSE : undefined)
      }
      learn(listed)
      return session
    },
    dispose: ({ client }) => client.close(),
    failed: options.failed
  })

  async function call (name: string, values: JsonObject, attempt: Attempt): Promise<JsonObject> {
    // The client writes messages with JSON.stringify, which does not take a bigint. A caller's long number must not count as a failure of the session.
    if (holdsBigint(values)) throw new ToolError('ARGUMENTS_INVALID', 'an integer beyond 2^53 cannot be sent to an MCP server: send it as a text')
    const session = await preparation.get()
    try {
      return await send(session, name, values, attempt)
    } catch (error) {
      if (attempt.signal.aborted) throw attempt.signal.reason
      if (!await isSessionUnknown(error, session)) throw await failed(error, session)
    }
    // The server has refused the call because it does not know the session, so it has not carried it out: a new session, and the call again.
    preparation.renew(session, SESSION_UNKNOWN, 0)
    const next = await preparation.get()
    try {
      return await send(next, name, values, attempt)
    } catch (error) {
      if (attempt.signal.aborted) throw attempt.signal.reason
      throw await failed(error, next)
    }
  }

  /** Sends a call. The headers of a connection are the same for all calls, so the trace context of a call is put into the message. */
  async function send ({ client }: Session, name: string, values: JsonObject, { signal, timeLeft, traceparent }: Attempt): Promise<JsonObject> {
    const trace = traceparent === undefined ? {} : { _meta: { traceparent } }
    const inputSchema = offer?.tools.find(tool => tool.name === name)?.inputSchema ?? { type: 'object' }
    // With the tool's definition given, and without an output schema in it, the client leaves it to this service to judge the result.
    const toolDefinition = { name, inputSchema: inputSchema as { type: 'object' } }
    const options = { signal, timeout: timeLeft ?? CALL_TIMEOUT, toolDefinition }
    return await client.callTool({ name, arguments: values as Record<string, never>, ...trace }, options) as JsonObject
  }

  /** Describes the failure of a call, and finds out whether the session is lost. One that the server answers is this call's alone. */
  async function failed (error: unknown, session: Session): Promise<ToolError> {
    if (await isSessionUnknown(error, session)) {
      preparation.renew(session, SESSION_UNKNOWN)
      return new ToolError('UNREACHABLE', SESSION_UNKNOWN, { transient: true, wasSent: false })
    }
    const { ended } = session.transport
    const described = await describeFailure(error as Error, options.secrets)
    const failure = described.code === 'UNREACHABLE' ? ended ?? described : described
    if (ended !== undefined || (failure.code === 'UNREACHABLE' && !failure.isInDoubt)) preparation.renew(session, failure.message)
    else if (await statusOf(error) === 400) checkSession(session)
    return failure
  }

  /** Some servers answer 400 when they do not know a session, as they do to a call that they do not like: a ping tells which of the two it was. */
  function checkSession (session: Session): void {
    if (session.transport.sessionId === undefined) return
    session.client.ping({ timeout: PROBE_TIMEOUT }).catch(async error => {
      if ([400, 404].includes(await statusOf(error) ?? 0)) preparation.renew(session, SESSION_UNKNOWN)
    })
  }

  return {
    offer: () => offer,
    watch (listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    call,
    attempted: preparation.attempted,
    state: () => preparation.state(),
    close: () => preparation.close()
  }
}

const SESSION_UNKNOWN = 'answered with status 404: the session is lost'

/** Whether a call failed because the server does not know the session any more. In the protocol of 2026 there are no sessions. */
async function isSessionUnknown (error: unknown, { client }: Session): Promise<boolean> {
  return await statusOf(error) === 404 && client.getProtocolEra() !== 'modern'
}

async function statusOf (error: unknown): Promise<number | undefined> {
  const { SdkHttpError } = await import('@modelcontextprotocol/client')
  return error instanceof SdkHttpError ? error.status : undefined
}

/** The schema of everything: this service reads lists and results itself, since the client would refuse a whole list for one bad tool. */
const ANY: StandardSchemaV1<unknown, never> = { '~standard': { version: 1, vendor: 'ai-prompt-shell', validate: value => ({ value: value as never }) } }

async function connect ({ server, headers, ...options }: McpConnectionOptions, changed: (offer: Offer) => void, signal: AbortSignal) {
  const { Client } = await import('@modelcontextprotocol/client')
  class LenientClient extends Client {
    override request (...[request, requestOptions]: unknown[]): Promise<never> {
      return super.request(request as Request, ANY, requestOptions as RequestOptions)
    }
  }
  const client = new LenientClient({ name: 'ai-prompt-shell', version: '1.0.0' }, {
    versionNegotiation: { mode: 'auto', probe: { timeoutMs: PROBE_TIMEOUT } },
    // Questions of a server to a person or a model are not answered here.
    inputRequired: { autoFulfill: false },
    listChanged: { tools: { autoRefresh: false, onChanged: () => { listing.request() } } }
  })
  // A failure to list the tools again is ignored: if the connection is lost, the next call of a tool notices it.
  const listing = createThrottle(() => { listTools(client, options.secrets).then(changed, () => {}) }, LISTING_INTERVAL)
  const transport = createMcpTransport(server, headers, options)
  try {
    await client.connect(transport, { signal })
    const listed = await listTools(client, options.secrets, signal)
    signal.throwIfAborted()
    return { session: { client, transport }, listed }
  } catch (error) {
    await client.close()
    await transport.close()
    throw transport.ended instanceof FloodError ? transport.ended : await describeRefusal(error as Error, options.secrets)
  }
}

/** Lists all pages of a server's tools. The server's texts are shown and logged, so the secrets that this service sends to it are removed. */
async function listTools (client: Client, secrets: readonly string[], signal?: AbortSignal): Promise<Offer> {
  const listed: Json[] = []
  const options = { timeout: CALL_TIMEOUT, ...(signal === undefined ? {} : { signal }) }
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES && listed.length <= MAX_TOOLS; page++) {
    const { tools, nextCursor } = await client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }, options) as JsonObject
    if (!Array.isArray(tools)) throw new ToolError('REPLY_INVALID', 'sent a list of tools that is no list')
    listed.push(...tools as Json[])
    if (typeof nextCursor !== 'string' || nextCursor === cursor) break
    cursor = nextCursor
  }
  return await readOffer(listed, MAX_TOOLS, secrets)
}

/** Describes the failure of a call. */
async function describeFailure (error: Error, secrets: readonly string[]): Promise<ToolError> {
  const { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } = await import('@modelcontextprotocol/client')
  const told = (code: number, message: string) => new ToolError('TOOL_ERROR', `answered with error ${code}`, { quote: quoteOf(message, secrets) })
  if (error instanceof ProtocolError) return told(error.code, error.message)
  if (error instanceof SdkHttpError) {
    const text = String(error.data.text ?? '')
    const inBody = errorIn(text)
    if (inBody !== undefined && error.status === 400) return told(inBody.code, inBody.message)
    return statusError(error.status, `answered with status ${error.status}`, quoteOf(inBody?.message ?? text, secrets))
  }
  const code = error instanceof SdkError ? error.code : undefined
  if (code === SdkErrorCode.RequestTimeout) return new ToolError('TIMEOUT', 'did not answer before its deadline', { transient: true })
  const isNoResult = code === SdkErrorCode.InvalidResult || code === SdkErrorCode.UnsupportedResultType || code === SdkErrorCode.ClientHttpUnexpectedContent
  // These are the errors of JSON.parse, and of the client's own schema of messages.
  if (isNoResult || error instanceof SyntaxError || error.name.endsWith('ZodError')) {
    return new ToolError('REPLY_INVALID', 'sent a reply that is no result of a tool')
  }
  return unreachable(error, secrets)
}

/**
 * Describes why a session could not be opened. At that time every HTTP status is about the address, and none about a session. If the client
 * could not learn the server's protocol version, the real error is the `cause` of the client's error.
 */
async function describeRefusal (error: Error, secrets: readonly string[]): Promise<ToolError> {
  const { SdkError, SdkErrorCode, SdkHttpError } = await import('@modelcontextprotocol/client')
  if (error instanceof SdkHttpError) return statusError(error.status)
  const isProbe = error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed
  return describeFailure(isProbe && error.cause instanceof Error ? error.cause : error, secrets)
}
