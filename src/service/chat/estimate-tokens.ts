import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { contentBytes, textBytes } from '../../llm/stream/written-bytes.ts'

/** What models spend on a message beside its text: its role and its ends. */
const TOKENS_PER_MESSAGE = 4

const BYTES_PER_TOKEN = 4

/**
 * About how many tokens a request is: a quarter of the bytes of its texts as UTF-8, and four a message. Every model
 * counts differently and only it knows; English text and code come out about right, Chinese text a little low. Images
 * and sound count nothing.
 */
export function estimateInputTokens (request: JsonObject): number {
  const { messages = [], input = '', tools = [] } = request
  const list = Array.isArray(messages) ? messages as readonly Json[] : []
  const texts = list.reduce((sum: number, message: Json) => sum + TOKENS_PER_MESSAGE + tokensOf(isJsonObject(message) ? messageBytes(message) : 0), 0)
  const declared = Array.isArray(tools) && tools.length > 0 ? tokensOf(Buffer.byteLength(stringifyJson(tools))) : 0
  return texts + inputTokens(input) + declared
}

/** The input of embeddings: texts, or the tokens of texts as numbers, which callers may send in their place. */
function inputTokens (input: Json): number {
  const numbers = Array.isArray(input) ? input.flat().filter(each => typeof each === 'number').length : 0
  return numbers + tokensOf(contentBytes(input))
}

function messageBytes (message: JsonObject): number {
  const { tool_calls: calls = null } = message
  return textBytes(message) + (calls === null ? 0 : Buffer.byteLength(stringifyJson(calls)))
}

/** About how many tokens a text of so many bytes is. */
export function tokensOf (bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}
