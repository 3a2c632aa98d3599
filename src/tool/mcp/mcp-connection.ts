import { type CallToolResult, type Client, type JsonSchemaValidator, type Tool } from '@modelcontextprotocol/client'
import { holdsBigint, type Json, type JsonObject } from '../../base/json.ts'
import { type Attempt } from '../connector.ts'
import { type McpServer } from './mcp-definition.ts'
import { createThrottle } from '../../runtime/throttle.ts'
import { createMcpTransport, type McpTransportOptions } from './mcp-transport.ts'
import { createPreparation, type Preparation, type PreparationState } from '../call/preparation.ts'
import { createRedactor, redactJson } from '../../base/redact.ts'
import { statusError, ToolError } from '../call/tool-error.ts'
import { unreachable } from '../unreachable.ts'

/** The most tools of one server that are used. Further tools are ignored. */
const MAX_TOOLS = 500

/** The time limit for learning a server's protocol version, in ms: old servers perhaps do not answer at all. */
const PROBE_TIMEOUT = 2000

/** The shortest time between two listings of a server's tools, in ms, however often the server says that they have changed. */
const LISTING_INTERVAL = 5000

/** The time limit of a call that has no deadline, in ms. */
const CALL_TIMEOUT = 60_000

/** The connection to one MCP server, with its session, which all tools of the server share. It is opened once, and again when the session is lost. */
export interface McpConnection {
  /** The tools that the server has listed last; `undefined` before the first listing. */
  tools (): readonly Tool[] | undefined
  /** Calls `listener` each time that the server has listed its tools. @returns the function that ends this */
  watch (listener: () => void): () => void
  /** Calls a tool of the server. @throws ToolError */
  call (name: string, values: JsonObject, attempt: Attempt): Promise<CallToolResult>
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

/** Connects to an MCP server: over streamable HTTP, or to a process that is started here. */
export function createMcpConnection (options: McpConnectionOptions): McpConnection {
  const listeners = new Set<() => void>()
  let tools: readonly Tool[] | undefined

  /** Stores a new list of the server's tools. Its texts are shown and logged, so the secrets that this service sends to the server are removed first. */
  function learn (listed: readonly Tool[]): void {
    tools = redactJson(listed.slice(0, MAX_TOOLS) as unknown as Json, options.secrets) as unknown as Tool[]
    for (const listener of listeners) listener()
  }

  const session: Preparation<Client> = createPreparation({
    prepare: async signal => {
      const { client, listed } = await connect(options, learn, signal)
      client.onclose = () => session.renew(client, 'the connection was lost')
      learn(listed)
      return client
    },
    dispose: client => client.close(),
    failed: options.failed
  })

  async function call (name: string, values: JsonObject, { signal, timeLeft, traceparent }: Attempt): Promise<CallToolResult> {
    // The client writes messages with JSON.stringify, which does not take a bigint. A caller's long number must not count as a failure of the session.
    if (holdsBigint(values)) throw new ToolError('ARGUMENTS_INVALID', 'an integer beyond 2^53 cannot be sent to an MCP server: send it as a text')
    const client = await session.get()
    try {
      // The headers of the connection are the same for all calls, so the trace context of a call is put into the message.
      const trace = traceparent === undefined ? {} : { _meta: { traceparent } }
      return await client.callTool({ name, arguments: values as Record<string, never>, ...trace }, { signal, timeout: timeLeft ?? CALL_TIMEOUT })
    } catch (error) {
      if (signal.aborted) throw signal.reason
      const failure = await describeFailure(error as Error, options.secrets)
      // A reply that was cut off comes as a ToolError, and does not mean that the session is lost.
      if (failure.code === 'UNREACHABLE' && failure !== error) session.renew(client, failure.message)
      throw failure
    }
  }

  return {
    tools: () => tools,
    watch (listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    call,
    attempted: session.attempted,
    state: () => session.state(),
    close: () => session.close()
  }
}

async function connect ({ server, headers, ...options }: McpConnectionOptions, changed: (tools: readonly Tool[]) => void, signal: AbortSignal) {
  const { Client } = await import('@modelcontextprotocol/client')
  const client = new Client({ name: 'ai-prompt-shell', version: '1.0.0' }, {
    versionNegotiation: { mode: 'auto', probe: { timeoutMs: PROBE_TIMEOUT } },
    // Questions of a server to a person or a model are not answered here.
    inputRequired: { autoFulfill: false },
    listChanged: { tools: { autoRefresh: false, onChanged: () => { listing.request() } } },
    // The service's own validator checks results, since it limits what a stranger's schema can do.
    jsonSchemaValidator: { getValidator: acceptAll }
  })
  // A failure to list the tools again is ignored: if the connection is lost, the next call of a tool notices it.
  const listing = createThrottle(() => { client.listTools().then(({ tools }) => changed(tools), () => {}) }, LISTING_INTERVAL)
  const transport = await createMcpTransport(server, headers, options)
  try {
    await client.connect(transport, { signal })
    const { tools } = await client.listTools(undefined, { signal })
    signal.throwIfAborted()
    return { client, listed: tools }
  } catch (error) {
    await client.close()
    await transport.close()
    throw await describeRefusal(error as Error, options.secrets)
  }
}

function acceptAll<T> (): JsonSchemaValidator<T> {
  return data => ({ valid: true, data: data as T, errorMessage: undefined })
}

/** The HTTP statuses by which a server says that it does not know the session: 404 as the protocol demands, and 400 as many servers do. */
const SESSION_LOST = new Set([404, 400])

/**
 * Describes the failure of a call. The code `UNREACHABLE` makes this service open a new session for all callers. So an error that is about one
 * call gets another code: a caller whose own call fails must not end the calls of others.
 */
async function describeFailure (error: Error, secrets: readonly string[]): Promise<ToolError> {
  const { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } = await import('@modelcontextprotocol/client')
  if (error instanceof ProtocolError) {
    return new ToolError('TOOL_ERROR', `answered with error ${error.code}`, { quote: createRedactor(secrets)(error.message).slice(0, 200) })
  }
  if (error instanceof SdkHttpError) return SESSION_LOST.has(error.status) ? sessionLost(error.status) : statusError(error.status)
  const code = error instanceof SdkError ? error.code : undefined
  if (code === SdkErrorCode.RequestTimeout) return new ToolError('TIMEOUT', 'did not answer before its deadline', { transient: true })
  const isNoResult = code === SdkErrorCode.InvalidResult || code === SdkErrorCode.UnsupportedResultType || code === SdkErrorCode.ClientHttpUnexpectedContent
  // These are the errors of JSON.parse, and of the client's own schema of messages.
  if (isNoResult || error instanceof SyntaxError || error.name.endsWith('ZodError')) {
    return new ToolError('REPLY_INVALID', 'sent a reply that is no result of a tool')
  }
  return unreachable(error, secrets)
}

function sessionLost (status: number): ToolError {
  return new ToolError('UNREACHABLE', `answered with status ${status}: the session is lost`, { transient: true })
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
