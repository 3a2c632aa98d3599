import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { isDeeper, isJsonObject, type Json, type JsonObject, MAX_JSON_DEPTH, type MutableObject, stringifyJson } from '../../base/json.ts'
import { redactJson } from '../../base/redact.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import { ToolError } from '../tool-error.ts'

const MAX_PER_SECOND = 100

/** Such as the empty event that begins a stream. */
const PER_REQUEST = 2

/**
 * The inbox of one connection to an MCP server: every message that the server sends goes through it, whatever the transport. It tells answers to
 * requests from messages that nobody asked for, and bounds the latter, so that a server cannot keep this service busy. Members of the protocol
 * that are `null` are left out: many servers write so what they do not have, and the MCP library would refuse the whole message.
 */
export class McpInbox {
  readonly #maxMessage: number
  readonly #deliver: (message: JSONRPCMessage) => void
  /** As texts: some servers answer with `"1"` to `1`. */
  readonly #asked = new Set<string>()
  #allowance = MAX_PER_SECOND
  #countedAt = performance.now()

  /** `maxMessage` is in UTF-16 units, for a message that is no answer. */
  constructor (maxMessage: number, deliver: (message: JSONRPCMessage) => void) {
    this.#maxMessage = maxMessage
    this.#deliver = deliver
  }

  ask (id: string | number): void {
    this.#asked.add(String(id))
    this.#allowance += PER_REQUEST
  }

  isAsked (id: string | number): boolean {
    return this.#asked.has(String(id))
  }

  forget (id: string | number): void {
    this.#asked.delete(String(id))
  }

  /** @throws SyntaxError for a text that is not JSON @throws FloodError */
  take (text: string): void {
    const value = JSON.parse(text) as Json
    if (!Array.isArray(value)) this.#takeOne(value, text.length)
    else for (const each of value) this.#takeOne(each as Json, text.length / value.length)
  }

  /** @throws FloodError */
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

export class FloodError extends ToolError {
  constructor (what: string) {
    super('UNREACHABLE', `${what}: its connection was closed`, { transient: true })
  }
}

/** The MCP library passes over an answer of another form, and the request would wait until its deadline. */
function answerOf ({ id = null, error, result }: JsonObject): JsonObject {
  if (error !== undefined) return { jsonrpc: '2.0', id, error: isError(error) ? error : { code: -32603, message: stringifyJson(error) } }
  const cleaned = isJsonObject(result) ? withoutNulls(result) : {}
  for (const name of ['_meta', 'serverInfo', 'capabilities']) if (Object.hasOwn(cleaned, name)) cleaned[name] = withoutNulls(cleaned[name] as JsonObject)
  return { jsonrpc: '2.0', id, result: cleaned }
}

function isError (error: Json): boolean {
  return isJsonObject(error) && Number.isInteger(error['code']) && typeof error['message'] === 'string'
}

function withoutNulls (object: JsonObject): MutableObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null)) as MutableObject
}

export interface ListedTool {
  readonly name: string
  readonly description?: string
  readonly inputSchema?: Json | undefined
  readonly outputSchema?: JsonObject | undefined
}

export interface McpTools {
  readonly tools: readonly ListedTool[]
  readonly problems: readonly OfferProblem[]
}

export interface OfferProblem { readonly tool: string, readonly reason: string }

/** A wrong tool does not keep the others from being used. Pauses often, since lists can be large. */
export async function readOffer (listed: readonly Json[], limit: number, secrets: readonly string[]): Promise<McpTools> {
  const tools: ListedTool[] = []
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
