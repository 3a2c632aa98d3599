import { isJsonObject, type Json, type JsonObject, listOf, objectOf, stringifyJson } from '../base/json.ts'
import type { TokenUsage } from '../observe/activity.ts'
import { objectOf as asObject, type ModelRequest } from './model-request.ts'
import { contentBytes, textBytes, writtenBytes } from './frame.ts'

export interface StreamFacts {
  readonly outcome: 'complete' | 'failed' | 'left'
  readonly model?: string
  /** The numbers of tokens, as the API gives them. Most APIs send none unless `stream_options.include_usage` asks for it. */
  readonly usage?: JsonObject
  /** In bytes of UTF-8; tokens are estimated by it when there is no `usage`. */
  readonly bytes: number
  /** Id and finish reasons in the form of a whole reply, with the answers where spans have what was said. Left out where nothing is traced. */
  readonly reply?: JsonObject | undefined
}

/** `undefined` for a value that is not of OpenAI's form. */
export function readUsage (usage: Json | undefined): TokenUsage | undefined {
  if (!isJsonObject(usage ?? null)) return undefined
  const { prompt_tokens: input, completion_tokens: output = 0 } = usage as JsonObject
  if (!isCount(input) || !isCount(output)) return undefined
  const cachedTokens = detail(usage as JsonObject, 'prompt_tokens_details', 'cached_tokens')
  const reasoningTokens = detail(usage as JsonObject, 'completion_tokens_details', 'reasoning_tokens')
  return { inputTokens: input, outputTokens: output, ...cachedTokens > 0 && { cachedTokens }, ...reasoningTokens > 0 && { reasoningTokens }, isEstimate: false }
}

function detail (usage: JsonObject, details: string, name: string): number {
  const { [name]: count = 0 } = objectOf(usage[details])
  return isCount(count) ? count : 0
}

function isCount (value: Json | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** The tokens of a whole reply; they are estimated if the provider has sent no usage. */
export function usageOfReply (request: ModelRequest, value: JsonObject): TokenUsage {
  return readUsage(value['usage']) ?? estimate(request, bytesOfReply(value))
}

/** Also of a stream that was left or cut off; estimated if the provider has sent no usage. */
export function usageOfStream (request: ModelRequest, { usage, bytes }: StreamFacts): TokenUsage {
  return readUsage(usage) ?? estimate(request, bytes)
}

/** For a call of which the provider has told nothing. */
export function estimate (request: ModelRequest, bytes: number): TokenUsage {
  return { inputTokens: estimateInputTokens(request), outputTokens: tokensOf(bytes), isEstimate: true }
}

/** In bytes of UTF-8, of the same texts that are counted for a stream. */
function bytesOfReply ({ choices }: JsonObject): number {
  if (!Array.isArray(choices)) return 0
  return choices.reduce((sum: number, choice: Json) => {
    const { message = null } = objectOf(choice)
    return sum + (isJsonObject(message) ? writtenBytes(message) : 0)
  }, 0)
}

const TOKENS_PER_MESSAGE = 4

const BYTES_PER_TOKEN = 4

/** About right for English and code, a little low for Chinese, without images and sound: every model has its own tokenizer. */
export function estimateInputTokens (request: ModelRequest): number {
  const { messages = [], input = '', tools = [] } = asObject(request)
  const list = listOf(messages)
  const texts = list.reduce((sum: number, message: Json) => sum + TOKENS_PER_MESSAGE + tokensOf(isJsonObject(message) ? messageBytes(message) : 0), 0)
  const declared = Array.isArray(tools) && tools.length > 0 ? tokensOf(Buffer.byteLength(stringifyJson(tools))) : 0
  return texts + inputTokens(input) + declared
}

function inputTokens (input: Json): number {
  const numbers = Array.isArray(input) ? input.flat().filter(each => typeof each === 'number').length : 0
  return numbers + tokensOf(contentBytes(input))
}

function messageBytes (message: JsonObject): number {
  const { tool_calls: calls = null } = message
  return textBytes(message) + (calls === null ? 0 : Buffer.byteLength(stringifyJson(calls)))
}

function tokensOf (bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}
