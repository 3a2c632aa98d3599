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

/** Tools of one server that are taken notice of. */
const MAX_TOOLS = 500

/** To learn a server's protocol version, in ms: old servers may not answer at all. */
const PROBE_TIMEOUT = 2000

/** The shortest time from one listing of a server's tools to the next, in ms, however often the server says that they have changed. */
const LISTING_INTERVAL = 5000

/** Calls without a deadline of their own, in ms. */
const CALL_TIMEOUT = 60_000

/** One MCP server with its session, which all its tools share. It is connected once, and again when the session is lost. */
export interface McpConnection {
  /** The tools that the server offers, as it said last; `undefined` before it has said anything. */
  tools (): readonly Tool[] | undefined
  /** Calls `listener` whenever that may have changed. Gives a function that ends it. */
  watch (listener: () => void): () => void
  /** @throws ToolError */
  call (name: string, values: JsonObject, attempt: Attempt): Promise<CallToolResult>
  readonly attempted: Promise<void>
  state (): PreparationState
  close (): Promise<void>
}

export interface McpConnectionOptions extends McpTransportOptions {
  readonly server: McpServer
  readonly headers: Readonly<Record<string, string>>
  /** The secrets in the headers. */
  readonly secrets: readonly string[]
  readonly failed: (error: Error) => void
}

/** Connects to an MCP server: streamable HTTP, or a process that is started here. */
export function createMcpConnection (options: McpConnectionOptions): McpConnection {
  const listeners = new Set<() => void>()
  let tools: readonly Tool[] | undefined

  /** Words of a server about its tools are shown, logged and quoted, so the secrets that the server was sent are taken out first. */
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
    // The client writes messages with JSON.stringify, which takes no bigint. A long number of a caller must not count as a
    // fault of the session.
    if (holdsBigint(values)) throw new ToolError('ARGUMENTS_INVALID', 'an integer beyond 2^53 cannot be sent to an MCP server: send it as a text')
    const client = await session.get()
    try {
      // The headers of the connection are the same for all its calls, so the trace context of a call goes into the message.
      const trace = traceparent === undefined ? {} : { _meta: { traceparent } }
      return await client.callTool({ name, arguments: values as Record<string, never>, ...trace }, { signal, timeout: timeLeft ?? CALL_TIMEOUT })
    } catch (error) {
      if (signal.aborted) throw signal.reason
      const failure = await describeFailure(error as Error, options.secrets)
      // A reply that broke off, which comes as a ToolError, tells nothing of the session.
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
    // A server that wants to ask a person or a model something has come to the wrong place.
    inputRequired: { autoFulfill: false },
    listChanged: { tools: { autoRefresh: false, onChanged: () => { listing.request() } } },
    // Our own validator checks results, since it bounds what a stranger's schema may do.
    jsonSchemaValidator: { getValidator: acceptAll }
  })
  // What fails here is noticed by the next call.
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

/** Statuses by which a server says that it does not know the session: the protocol's status, and that of many servers. */
const SESSION_LOST = new Set([404, 400])

/** Only what shows that the session is lost is `UNREACHABLE`: a caller who can make one call fail must not end the calls of others. */
async function describeFailure (error: Error, secrets: readonly string[]): Promise<ToolError> {
  const { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } = await import('@modelcontextprotocol/client')
  if (error instanceof ProtocolError) {
    return new ToolError('TOOL_ERROR', `answered with error ${error.code}`, { quote: createRedactor(secrets)(error.message).slice(0, 200) })
  }
  if (error instanceof SdkHttpError) return SESSION_LOST.has(error.status) ? sessionLost(error.status) : statusError(error.status)
  const code = error instanceof SdkError ? error.code : undefined
  if (code === SdkErrorCode.RequestTimeout) return new ToolError('TIMEOUT', 'did not answer before its deadline', { transient: true })
  const isNoResult = code === SdkErrorCode.InvalidResult || code === SdkErrorCode.UnsupportedResultType || code === SdkErrorCode.ClientHttpUnexpectedContent
  // What JSON.parse and the client's own schema of messages throw.
  if (isNoResult || error instanceof SyntaxError || error.name.endsWith('ZodError')) {
    return new ToolError('REPLY_INVALID', 'sent a reply that is no result of a tool')
  }
  return unreachable(error, secrets)
}

function sessionLost (status: number): ToolError {
  return new ToolError('UNREACHABLE', `answered with status ${status}: the session is lost`, { transient: true })
}

/** Why there is no session. Here every status is about the address. The error of the question for the protocol's version is inside. */
async function describeRefusal (error: Error, secrets: readonly string[]): Promise<ToolError> {
  const { SdkError, SdkErrorCode, SdkHttpError } = await import('@modelcontextprotocol/client')
  if (error instanceof SdkHttpError) return statusError(error.status)
  const isProbe = error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed
  return describeFailure(isProbe && error.cause instanceof Error ? error.cause : error, secrets)
}
