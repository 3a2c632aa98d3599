import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { isDeeper, isJsonObject, type Json, type JsonObject, MAX_JSON_DEPTH, type MutableObject, stringifyJson } from '../../base/json.ts'
import { redactJson } from '../../base/redact.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import { ToolError } from '../tool-error.ts'

/** The most messages in a second that a server may send without being asked: pings, notifications, requests, answers to nothing. */
const MAX_PER_SECOND = 100

/** The further messages that a server may send for each request to it, such as the empty event that begins a stream. */
const PER_REQUEST = 2

/**
 * The inbox of one connection to an MCP server: every message that the server sends goes through it, whatever the transport. It tells answers to
 * requests from messages that nobody asked for, and bounds the latter, so that a server cannot keep this service busy. Members of the protocol
 * that are `null` are left out: many servers write so what they do not have, and the MCP library would refuse the whole message.
 */
export class McpInbox {
  readonly #maxMessage: number
  readonly #deliver: (message: JSONRPCMessage) => void
  /** The ids of the requests that are not answered yet, as texts: some servers answer with `"1"` to `1`. */
  readonly #asked = new Set<string>()
  /** The number of messages that the server may still send unasked. It grows with time, up to a second's worth. */
  #allowance = MAX_PER_SECOND
  #countedAt = performance.now()

  /** @param maxMessage the greatest length of a message that is no answer, in UTF-16 units */
  constructor (maxMessage: number, deliver: (message: JSONRPCMessage) => void) {
    this.#maxMessage = maxMessage
    this.#deliver = deliver
  }

  /** Records that a request is about to be sent, whose answer is expected. */
  ask (id: string | number): void {
    this.#asked.add(String(id))
    this.#allowance += PER_REQUEST
  }

  isAsked (id: string | number): boolean {
    return this.#asked.has(String(id))
  }

  /** Records that the answer to a request is no longer expected. */
  forget (id: string | number): void {
    this.#asked.delete(String(id))
  }

  /** Reads and delivers one message, or a list of messages. @throws SyntaxError for a text that is not JSON @throws FloodError */
  take (text: string): void {
    const value = JSON.parse(text) as Json
    if (!Array.isArray(value)) this.#takeOne(value, text.length)
    else for (const each of value) this.#takeOne(each as Json, text.length / value.length)
  }

  /** Counts a message that nobody asked for. @throws FloodError when there are too many of them */
  count (): void {
    const now = performance.now()
    const most = MAX_PER_SECOND + PER_REQUEST * this.#asked.size
    this.#allowance = Math.min(most, this.#allowance + (now - this.#countedAt) * MAX_PER_SECOND / 1000) - 1
    this.#countedAt = now
    if (this.#allowance < 0) throw new FloodError(`sent more than ${MAX_PER_SECOND} messages in a second that nobody asked for`)
  }

  #takeOne (value: Json, length: number): void {
    const message = isJsonObject(value) ? withoutNulls(value) : {}
    const { id = null } = message
    const isAnswer = !Object.hasOwn(message, 'method') && this.#asked.delete(String(id))
    if (!isAnswer) {
      this.count()
      if (length > this.#maxMessage) throw new FloodError('sent a message that nobody asked for and that is too large')
    }
    this.#deliver((isAnswer ? answerOf(message) : message) as JSONRPCMessage)
  }
}

/** The error of a server that sends too much. Its connection is closed. */
export class FloodError extends ToolError {
  constructor (what: string) {
    super('UNREACHABLE', `${what}: its connection was closed`, { transient: true })
  }
}

/**
 * An answer in the form that the MCP library knows: it passes over any other, and the request would wait until its deadline. Members of the protocol
 * that are null are left out of the result; what a tool itself gives stays as it is.
 */
function answerOf ({ id = null, error, result }: JsonObject): JsonObject {
  if (error !== undefined) return { jsonrpc: '2.0', id, error: isError(error) ? error : { code: -32603, message: stringifyJson(error) } }
  const cleaned = isJsonObject(result) ? withoutNulls(result) : {}
  for (const name of ['_meta', 'serverInfo', 'capabilities']) if (Object.hasOwn(cleaned, name)) cleaned[name] = withoutNulls(cleaned[name] as JsonObject)
  return { jsonrpc: '2.0', id, result: cleaned }
}

function isError (error: Json): boolean {
  return isJsonObject(error) && Number.isInteger(error['code']) && typeof error['message'] === 'string'
}

/** A copy of an object without its own members that are null. */
function withoutNulls (object: JsonObject): MutableObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null)) as MutableObject
}

/** A tool as an MCP server describes it. */
export interface OfferedTool {
  readonly name: string
  readonly description?: string
  readonly inputSchema?: Json | undefined
  readonly outputSchema?: JsonObject | undefined
}

/** What an MCP server offers: the tools that can be used, and why others cannot. */
export interface Offer {
  readonly tools: readonly OfferedTool[]
  readonly problems: readonly OfferProblem[]
}

/** A tool that cannot be used, by the name that the server gives to it, with the reason. */
export interface OfferProblem { readonly tool: string, readonly reason: string }

/**
 * Reads the list of tools that a server has sent. One that is wrong is left out and told, and does not keep the others from being used. The work
 * pauses often, since lists can be large. @param secrets removed from the server's texts
 */
export async function readOffer (listed: readonly Json[], limit: number, secrets: readonly string[]): Promise<Offer> {
  const tools: OfferedTool[] = []
  const problems: OfferProblem[] = []
  const slices = createSlices()
  for (const [index, tool] of listed.slice(0, limit).entries()) {
    const known = isJsonObject(tool) && !isDeeper(tool, MAX_JSON_DEPTH) ? withoutNulls(redactJson(tool, secrets) as JsonObject) : {}
    const { name, description = '', inputSchema, outputSchema } = known
    const reject = (reason: string, tool: Json = `number ${index + 1}`) => problems.push({ tool: String(tool), reason })
    if (typeof name !== 'string' || name === '') reject('expected an object with a "name", at most 100 levels deep')
    else if (typeof description !== 'string') reject('"description" is no text', name)
    else if (outputSchema !== undefined && !isJsonObject(outputSchema)) reject('"outputSchema" is no object', name)
    else tools.push({ name, description, inputSchema, outputSchema })
    if (slices.isDue()) await slices.pause()
  }
  if (listed.length > limit) problems.push({ tool: `number ${limit + 1} and further`, reason: `at most ${limit} tools of one server are used` })
  return { tools, problems }
}
