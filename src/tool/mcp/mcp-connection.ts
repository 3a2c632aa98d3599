import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Attributes } from '@opentelemetry/api'
import type { Client, JSONRPCMessage, Request, RequestOptions, StandardSchemaV1, Transport } from '@modelcontextprotocol/client'
import { holdsBigint, type Json, type JsonObject, ownField } from '../../base/json.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import { createThrottle } from '../../runtime/concurrency.ts'
import type { HttpAgent } from '../connections.ts'
import { type CommonDefinition, parseUrlTemplate, type ToolDefinition } from '../definition.ts'
import type { Operator, StdioCommand } from '../operator.ts'
import { type Attempt, createPreparation, type Preparation, type PreparationState } from '../preparation.ts'
import { quoteOf, statusError, ToolError, unreachable } from '../tool-error.ts'
import { withMemberName, checkHost, policyOf } from '../tool-reader.ts'
import { errorIn, McpHttpTransport } from './mcp-http-transport.ts'
import { FloodError, McpInbox, type McpTools, readOffer } from './mcp-messages.ts'

const MAX_TOOLS = 500
const MAX_PAGES = 64

/** In ms: old servers perhaps do not answer at all. */
const PROBE_TIMEOUT = 2000

/** In ms, however often the server says that its tools have changed. */
const LISTING_INTERVAL = 5000

/** In ms, for a listing, and for a call that has no deadline. */
const CALL_TIMEOUT = 60_000

/** In ms. */
const FLOOD_PAUSE = 10_000

/** One MCP server's session, which all its tools share. It is opened once, and again when the session is lost. */
export interface McpConnection {
  offer (): McpTools | undefined
  watch (listener: () => void): () => void
  /** @returns the result as the server sent it @throws ToolError */
  call (name: string, values: JsonObject, attempt: Attempt): Promise<JsonObject>
  readonly attempted: Promise<void>
  state (): PreparationState
  close (): Promise<void>
}

interface McpConnectionOptions {
  readonly server: McpServer
  readonly headers: Readonly<Record<string, string>>
  readonly agent: HttpAgent
  readonly commands: ReadonlyMap<string, StdioCommand>
  /** In bytes. */
  readonly maxReply: number
  readonly secrets: readonly string[]
  readonly failed: (error: Error) => void
}

interface McpSession { readonly client: Client, readonly transport: McpTransport }

export function createMcpConnection (options: McpConnectionOptions): McpConnection {
  const listeners = new Set<() => void>()
  let offer: McpTools | undefined

  function learn (listed: McpTools): void {
    offer = listed
    for (const listener of listeners) listener()
  }

  const preparation: Preparation<McpSession> = createPreparation({
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
    // JSON.stringify takes no bigint; a caller's long number must not count as a failure of the session.
    if (holdsBigint(values)) throw new ToolError('ARGUMENTS_INVALID', 'an integer beyond 2^53 cannot be sent to an MCP server: send it as a text')
    const session = await preparation.get()
    try {
      return await send(session, name, values, attempt)
    } catch (error) {
      if (attempt.signal.aborted) throw attempt.signal.reason
      if (!await isSessionUnknown(error, session)) throw await failed(error, session)
    }
    // A server that does not know the session has not carried the call out, so it can be made again.
    preparation.renew(session, SESSION_UNKNOWN, 0)
    const next = await preparation.get()
    try {
      return await send(next, name, values, attempt)
    } catch (error) {
      if (attempt.signal.aborted) throw attempt.signal.reason
      throw await failed(error, next)
    }
  }

  /** The headers of a connection are the same for all calls, so the trace context goes into the message. */
  async function send ({ client, transport }: McpSession, name: string, values: JsonObject, attempt: Attempt): Promise<JsonObject> {
    const { signal, timeLeft, traceparent, span } = attempt
    // The conventions want them on the span of the tool's call, which this is already in.
    span?.set({
      'mcp.method.name': 'tools/call',
      'mcp.session.id': transport.sessionId,
      'mcp.protocol.version': client.getNegotiatedProtocolVersion(),
      ...networkAttributes(options.server)
    })
    const trace = traceparent === undefined ? {} : { _meta: { traceparent } }
    const inputSchema = offer?.tools.find(tool => tool.name === name)?.inputSchema ?? { type: 'object' }
    // With a definition that has no output schema, the client leaves it to this service to judge the result.
    const toolDefinition = { name, inputSchema: inputSchema as { type: 'object' } }
    const about = { signal, timeout: timeLeft ?? CALL_TIMEOUT, toolDefinition }
    try {
      return await client.callTool({ name, arguments: values as Record<string, never>, ...trace }, about) as JsonObject
    } catch (error) {
      // Only a JSON-RPC error has a number here.
      const { code } = error as { readonly code?: unknown }
      if (typeof code === 'number') span?.set({ 'rpc.response.status_code': String(code) })
      throw error
    }
  }

  async function failed (error: unknown, session: McpSession): Promise<ToolError> {
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

  /** Some servers answer 400 both to an unknown session and to a call that they do not like: a ping tells which. */
  function checkSession (session: McpSession): void {
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

function networkAttributes (server: McpServer): Attributes {
  if (server.kind === 'stdio') return { 'network.transport': 'pipe' }
  const { protocol, hostname, port } = new URL(server.url)
  return {
    'network.transport': 'tcp',
    'network.protocol.name': 'http',
    'server.address': hostname,
    'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
  }
}

const SESSION_UNKNOWN = 'answered with status 404: the session is lost'

/** In the protocol of 2026 there are no sessions. */
async function isSessionUnknown (error: unknown, { client }: McpSession): Promise<boolean> {
  return await statusOf(error) === 404 && client.getProtocolEra() !== 'modern'
}

async function statusOf (error: unknown): Promise<number | undefined> {
  const { SdkHttpError } = await import('@modelcontextprotocol/client')
  return error instanceof SdkHttpError ? error.status : undefined
}

/** The client would refuse a whole list for one bad tool, so this service reads lists and results itself. */
const ANY: StandardSchemaV1<unknown, never> = { '~standard': { version: 1, vendor: 'ai-prompt-shell', validate: value => ({ value: value as never }) } }

async function connect (options: McpConnectionOptions, changed: (offer: McpTools) => void, signal: AbortSignal) {
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
  // A failure is ignored: if the connection is lost, the next call notices it.
  const listing = createThrottle(() => { listTools(client, options.secrets).then(changed, () => {}) }, LISTING_INTERVAL)
  const transport = createMcpTransport(options)
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

/** The server's texts are shown and logged, so the secrets that it gets are removed. */
async function listTools (client: Client, secrets: readonly string[], signal?: AbortSignal): Promise<McpTools> {
  const listed: Json[] = []
  const options = { timeout: CALL_TIMEOUT, signal }
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
  if (isNoResult || error instanceof SyntaxError || error.name.endsWith('ZodError')) {
    return new ToolError('REPLY_INVALID', 'sent a reply that is no result of a tool')
  }
  return unreachable(error, secrets)
}

/** Here every HTTP status is about the address. If the protocol version stayed unknown, the real error is the `cause`. */
async function describeRefusal (error: Error, secrets: readonly string[]): Promise<ToolError> {
  const { SdkError, SdkErrorCode, SdkHttpError } = await import('@modelcontextprotocol/client')
  if (error instanceof SdkHttpError) return statusError(error.status)
  const isProbe = error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed
  return describeFailure(isProbe && error.cause instanceof Error ? error.cause : error, secrets)
}

interface McpTransport extends Transport {
  readonly ended: ToolError | undefined
}

function createMcpTransport ({ server, headers, agent, commands, maxReply }: McpConnectionOptions): McpTransport {
  if (server.kind === 'http') return new McpHttpTransport(new URL(server.url), headers, agent, maxReply)
  const command = commands.get(server.command)
  if (command === undefined) throw new Error('the command is not one that the operator allows')
  return new McpStdioTransport(command, maxReply)
}

/** The time that a process has to end by itself, and then after a SIGTERM, in ms. */
const PATIENCE = 2000

/** The process gets none of the service's own variables. */
const ENVIRONMENT = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER']

/**
 * The transport to an MCP server that is a process, started here with the operator's command, one message a line:
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio. The process has a process group of its own, so that what it starts
 * (as `npx` does) ends with it. Its output is read as fast as it is looked at, and messages are counted (`McpInbox`) before they are.
 */
class McpStdioTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  /** By `pid` and `stderr` the MCP library knows this kind: an older server may leave its first question unanswered. */
  readonly stderr = null
  readonly #command: StdioCommand
  readonly #maxLine: number
  readonly #inbox: McpInbox
  #process: ChildProcessByStdio<Writable, Readable, null> | undefined
  ended: ToolError | undefined

  /** `maxReply` is in bytes; an answer, which perhaps holds its text twice, may have twice that. */
  constructor (command: StdioCommand, maxReply: number) {
    this.#command = command
    this.#maxLine = 2 * maxReply
    this.#inbox = new McpInbox(maxReply, message => this.onmessage?.(message))
  }

  get pid (): number | null {
    return this.#process?.pid ?? null
  }

  async start (): Promise<void> {
    const env = Object.fromEntries(ENVIRONMENT.map(name => [name, process.env[name]]).filter(([, value]) => value?.startsWith('()') === false))
    const child = spawn(this.#command.command, this.#command.arguments, { env, stdio: ['pipe', 'pipe', 'ignore'], detached: true, windowsHide: true })
    child.stdin.on('error', error => this.onerror?.(error))
    await once(child, 'spawn')
    child.on('error', error => this.onerror?.(error))
    // What a process has left behind may hold its output open for good.
    child.on('exit', () => { setTimeout(() => child.stdout.destroy(), PATIENCE).unref() })
    this.#process = child
    void this.#read(child.stdout)
  }

  async send (message: JSONRPCMessage): Promise<void> {
    if (this.ended !== undefined || this.#process === undefined) throw this.ended ?? new ToolError('UNREACHABLE', 'is not started', { wasSent: false })
    if ('id' in message && 'method' in message) this.#inbox.ask(message.id)
    if ('method' in message && message.method === 'notifications/cancelled') this.#inbox.forget(String((message.params as { requestId?: string })?.requestId))
    if (!this.#process.stdin.write(`${JSON.stringify(message)}\n`)) await once(this.#process.stdin, 'drain')
  }

  async close (): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    const isOver = async () => await Promise.race([ended.then(() => true), delay(PATIENCE, false, { ref: false })])
    child.stdin.end()
    if (await isOver()) return
    endGroup(child, 'SIGTERM')
    if (!await isOver()) endGroup(child, 'SIGKILL')
  }

  async #read (output: Readable): Promise<void> {
    const child = this.#process
    let end = new ToolError('UNREACHABLE', 'the process has ended', { transient: true })
    try {
      await this.#readLines(output)
    } catch (error) {
      if (error instanceof ToolError) end = error
      // A process that sends too much gets no time to end by itself.
      if (child !== undefined) endGroup(child, 'SIGKILL')
    }
    this.ended = end
    this.#process = undefined
    this.onclose?.()
  }

  async #readLines (output: Readable): Promise<void> {
    const slices = createSlices()
    let pieces: Buffer[] = []
    let length = 0
    for await (const chunk of output as AsyncIterable<Buffer>) {
      let start = 0
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        const line = Buffer.concat([...pieces, chunk.subarray(start, end)]).toString()
        pieces = []
        length = 0
        start = end + 1
        this.#take(line)
        if (slices.isDue()) await slices.pause()
      }
      pieces.push(chunk.subarray(start))
      length += chunk.length - start
      if (length > this.#maxLine) throw new FloodError('sent a message that is too large')
    }
  }

  /** Programs print lines that are no message by mistake: these are counted and passed over. */
  #take (line: string): void {
    try {
      this.#inbox.take(line)
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      this.#inbox.count()
      this.onerror?.(error)
    }
  }
}

function endGroup ({ pid }: ChildProcessByStdio<Writable, Readable, null>, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // The group has ended already.
  }
}

export interface McpDefinition extends ToolDefinition {
  readonly server: McpServer
  /** `undefined` for the whole server, whose tools are named `{name}_{tool}`. */
  readonly tool: string | undefined
  /** The output schema shows whether results are wrapped in `{"result": …}`, as FastMCP does. */
  readonly wrapsResult?: boolean
  readonly isReturnsOffered?: boolean
}

type McpServer =
  | { readonly kind: 'http', readonly url: string }
  | { readonly kind: 'stdio', readonly command: string }

export function parseMcp (common: CommonDefinition, endpoint: JsonObject, operator: Operator): McpDefinition {
  const server = mcpServer(endpoint, operator)
  if (server.kind === 'http') checkHost(new URL(server.url).host, common, operator)
  else if (common.headers.length > 0) throw new Error('a command takes no headers')
  // A registration with the key mcp:{server}:{tool} is one tool of the server; with the key mcp:{server} it is the whole server.
  const [, ...segments] = common.id.split('.')
  const tool = ownField(endpoint, 'tool') as string | undefined ?? (segments.length > 1 ? segments.at(-1) : undefined)
  return { ...common, type: 'mcp', isRelative: false, server, tool, standsFor: tool === undefined ? 'an MCP server' : undefined, policy: policyOf(common) }
}

function mcpServer (endpoint: JsonObject, operator: Operator): McpServer {
  const command = ownField(endpoint, 'command') as string | undefined
  const url = ownField(endpoint, 'url') as string | undefined
  if ((command === undefined) === (url === undefined)) throw new Error('an mcp tool needs either a "url" or a "command"')
  if (command !== undefined) {
    if (!operator.commands.has(command)) throw new Error(`command "${command}" is not one that the operator allows`)
    return { kind: 'stdio', command }
  }
  const template = withMemberName('url', () => parseUrlTemplate(url as string))
  if (template.origin === undefined || template.placeholders.length > 0) throw new Error('url: must be absolute, without {placeholders}')
  return { kind: 'http', url: template.origin + template.path }
}
