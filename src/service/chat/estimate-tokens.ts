import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { contentBytes, textBytes } from '../../llm/stream/written-bytes.ts'

/** How many tokens a message takes beside its text: for its role and its delimiters. */
const TOKENS_PER_MESSAGE = 4

const BYTES_PER_TOKEN = 4

/**
 * Estimates the input tokens of a request: a quarter of the bytes of its texts as UTF-8, and four for each message. Every model has a
 * tokenizer of its own. The estimate is about right for English text and code, and a little low for Chinese text. Images and sound are
 * not counted.
 */
export function estimateInputTokens (request: JsonObject): number {
  const { messages = [], input = '', tools = [] } = request
  const list = Array.isArray(messages) ? messages as readonly Json[] : []
  const texts = list.reduce((sum: number, message: Json) => sum + TOKENS_PER_MESSAGE + tokensOf(isJsonObject(message) ? messageBytes(message) : 0), 0)
  const declared = Array.isArray(tools) && tools.length > 0 ? tokensOf(Buffer.byteLength(stringifyJson(tools))) : 0
  return texts + inputTokens(input) + declared
}

/** The tokens of the input of an embeddings request: texts, or lists of numbers, which are texts that the caller has turned into tokens already. */
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
