import { randomBytes } from 'node:crypto'
import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts'
import { isCut } from '../../../llm/answer.ts'
import { readReply } from '../../../llm/history.ts'
import { type CountedReply } from '../../../service/chat/counted-models.ts'

/** What is known of a response of the Responses API as soon as the response begins. */
export interface ResponseHead {
  readonly id: string
  /** The time of creation, in seconds since 1970. */
  readonly createdAt: number
  readonly model: string
  /** The body of the request. */
  readonly body: JsonObject
}

/** Makes a random id in OpenAI's form. @param prefix `resp`, `msg` or `fc` */
export function newId (prefix: string): string {
  return `${prefix}_${randomBytes(16).toString('hex')}`
}

/** Collects what is known of a new response as soon as it begins. @param completion a whole chat completion, or its first chunk */
export function headOf (completion: JsonObject, body: JsonObject): ResponseHead {
  const model = [completion['model'], body['model']].find(each => typeof each === 'string') ?? ''
  return { id: newId('resp'), createdAt: Math.floor(Date.now() / 1000), model, body }
}

/** Turns a whole chat completion into a response of the Responses API. */
export function responseFrom ({ value, usage }: CountedReply, body: JsonObject): JsonObject {
  const { text, refusal, calls, finishReason, cut } = readReply(value, body)
  const parts = [...(text === '' ? [] : [textPart(text)]), ...(refusal === '' ? [] : [refusalPart(refusal)])]
  const status = cut ? 'incomplete' : 'completed'
  return finished(headOf(value, body), finishReason, [
    ...(parts.length === 0 ? [] : [messageItem(newId('msg'), parts, status)]),
    ...calls.map(({ id, name, arguments: given }) => callItem({ id: newId('fc'), callId: id, name, arguments: given }, status))
  ], usageOf(value['usage'], usage))
}

/** The response once the model has finished. @param reason the `finish_reason` of the chat completion */
export function finished (head: ResponseHead, reason: string | undefined, output: readonly JsonObject[], usage: JsonObject | null): JsonObject {
  const end = isCut(reason)
    ? { status: 'incomplete', incomplete_details: { reason: reason === 'content_filter' ? reason : 'max_output_tokens' } }
    : { status: 'completed', incomplete_details: null }
  return { ...describe(head), ...end, output, usage }
}

/** The response before the model has written anything. */
export function begun (head: ResponseHead): JsonObject {
  return { ...describe(head), status: 'in_progress', incomplete_details: null, output: [], usage: null }
}

function describe ({ id, createdAt, model, body }: ResponseHead): JsonObject {
  const own = (field: string, otherwise: Json): Json => body[field] ?? otherwise
  return {
    id,
    object: 'response',
    created_at: createdAt,
    error: null,
    instructions: own('instructions', null),
    max_output_tokens: own('max_output_tokens', null),
    metadata: own('metadata', {}),
    model,
    parallel_tool_calls: own('parallel_tool_calls', true),
    previous_response_id: null,
    reasoning: own('reasoning', { effort: null, summary: null }),
    store: false,
    temperature: own('temperature', null),
    text: own('text', { format: { type: 'text' } }),
    tool_choice: own('tool_choice', 'auto'),
    tools: own('tools', []),
    top_p: own('top_p', null),
    truncation: 'disabled'
  }
}

export function textPart (text: string): JsonObject {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

export function refusalPart (refusal: string): JsonObject {
  return { type: 'refusal', refusal }
}

export function messageItem (id: string, content: readonly JsonObject[], status: string): JsonObject {
  return { type: 'message', id, status, role: 'assistant', content }
}

/** A function call in a response. */
export interface FunctionCall {
  readonly id: string
  /** The caller sends the result of the call under this id. */
  readonly callId: string
  readonly name: string
  readonly arguments: string
}

export function callItem ({ id, callId, name, arguments: text }: FunctionCall, status: string): JsonObject {
  return { type: 'function_call', id, status, call_id: callId, name, arguments: text }
}

/**
 * The token usage of a response; null when it is unknown.
 * @param usage the `usage` of the chat completion
 * @param counted the service's own count, for a completion without `usage`
 */
export function usageOf (usage: Json | undefined, counted?: { readonly inputTokens: number, readonly outputTokens: number }): JsonObject | null {
  const given = isJsonObject(usage) ? usage : undefined
  if (given === undefined && counted === undefined) return null
  const number = (value: Json | undefined) => typeof value === 'number' ? value : 0
  const detail = (details: string, name: string) => number(isJsonObject(given?.[details]) ? given[details][name] : undefined)
  const input = given === undefined ? counted?.inputTokens ?? 0 : number(given['prompt_tokens'])
  const output = given === undefined ? counted?.outputTokens ?? 0 : number(given['completion_tokens'])
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: detail('prompt_tokens_details', 'cached_tokens') },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: detail('completion_tokens_details', 'reasoning_tokens') },
    total_tokens: input + output
  }
}
