import { randomUUID } from 'node:crypto'
import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { type ModelRequest } from '../model-client.ts'
import { textOf } from './request-texts.ts'

/** The content of a builtin model's answer: a text, calls of tools, or both. */
export interface BuiltinAnswer {
  readonly text?: string | undefined
  readonly calls?: ReadonlyArray<{ readonly name: string, readonly arguments?: JsonObject | undefined }> | undefined
}

/** An answer of a builtin model with everything that OpenAI's format adds to it. `head` has the fields that a whole reply and every chunk of a stream share. */
export interface FinishedAnswer {
  readonly head: { readonly id: string, readonly created: number, readonly model: string, readonly system_fingerprint: string }
  readonly message: JsonObject
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly finish: string
  readonly usage: JsonObject
}

interface ToolCall { readonly id: string, readonly name: string, readonly arguments: string }

/** Adds to an answer what OpenAI's format needs: the head, the ids of its calls, and the numbers of tokens. @param kind `echo` or `script` */
export function finishAnswer (kind: string, request: ModelRequest, messages: readonly JsonObject[], answer: BuiltinAnswer): FinishedAnswer {
  const model = typeof request['model'] === 'string' ? request['model'] : kind
  const text = answer.text ?? ''
  const calls = (answer.calls ?? []).map(call => ({ id: `call_${randomUUID()}`, name: call.name, arguments: stringifyJson(call.arguments ?? {}) }))
  const toolCalls: JsonObject = calls.length === 0 ? {} : { tool_calls: calls.map(call => functionCall(call, call.arguments)) }
  return {
    head: { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model, system_fingerprint: `builtin:${kind}` },
    message: { role: 'assistant', content: answer.text ?? (calls.length === 0 ? '' : null), refusal: null, ...toolCalls },
    text,
    calls,
    finish: calls.length === 0 ? 'stop' : 'tool_calls',
    usage: usageOf(messages, [text, ...calls.flatMap(call => [call.name, call.arguments])])
  }
}

/** The answer as a whole chat completion in OpenAI's format. */
export function completionOf ({ head, message, finish, usage }: FinishedAnswer): JsonObject {
  return { ...head, object: 'chat.completion', choices: [{ index: 0, message, logprobs: null, finish_reason: finish }], usage }
}

/** The answer as server-sent events, one for each word, as a model would write it. The arguments of a call come in pieces, too. */
export function * eventsOf ({ head, message, text, calls, finish, usage }: FinishedAnswer, wantsUsage: boolean): Generator<string> {
  const chunk = (choices: Json, more: JsonObject = {}) => `data: ${stringifyJson({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`
  const choice = (delta: JsonObject, finished: string | null = null) => chunk([{ index: 0, delta, logprobs: null, finish_reason: finished }])
  yield choice({ role: 'assistant', content: message['content'] === null ? null : '' })
  for (const word of wordsOf(text)) yield choice({ content: word })
  for (const [index, call] of calls.entries()) {
    yield choice({ tool_calls: [{ index, ...functionCall(call, '') }] })
    for (const piece of wordsOf(call.arguments)) yield choice({ tool_calls: [{ index, function: { arguments: piece } }] })
  }
  yield choice({}, finish)
  if (wantsUsage) yield chunk([], { usage })
  yield 'data: [DONE]\n\n'
}

function functionCall ({ id, name }: ToolCall, text: string): JsonObject {
  return { id, type: 'function', function: { name, arguments: text } }
}

function * wordsOf (text: string): Generator<string> {
  for (const [word] of text.matchAll(/\s+\S*|\S+/g)) yield word
}

function usageOf (messages: readonly JsonObject[], written: readonly string[]): JsonObject {
  const prompt = messages.reduce((sum, message) => sum + tokens(textOf(message)), 0)
  const completion = written.reduce((sum, text) => sum + tokens(text), 0)
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

function tokens (text: string): number {
  return Math.ceil(text.length / 4)
}
