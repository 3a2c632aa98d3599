import { randomUUID } from 'node:crypto'
import { stringifyJson } from '../json.ts'
import { type Json, type JsonObject, isObject } from '../template/value.ts'
import { type CallOptions, type ModelClient, type ModelReply, type ModelRequest } from './model-client.ts'
import { openAiError, UpstreamRefusal } from './upstream-error.ts'

/** `LLM_BASE_URL=builtin:echo` chooses it. */
export const ECHO_URL = 'builtin:echo'

/**
 * A model for trying things out, without any network: it answers with the text of the last message of the user (or of
 * the last message, when the user has said nothing), in the shape of OpenAI's API.
 */
export class EchoModel implements ModelClient {
  readonly #model: string

  /** @param model named in replies when a request names none */
  constructor (model = 'echo') {
    this.#model = model
  }

  async complete (request: ModelRequest, { signal }: CallOptions): Promise<ModelReply> {
    signal.throwIfAborted()
    const messages = messagesOf(request)
    const content = echoOf(messages)
    const value: JsonObject = {
      id: `chatcmpl-${randomUUID()}`,
      object: 'chat.completion',
      created: Math.floor(Date.now() / 1000),
      model: typeof request['model'] === 'string' ? request['model'] : this.#model,
      choices: [{ index: 0, message: { role: 'assistant', content, refusal: null }, logprobs: null, finish_reason: 'stop' }],
      usage: usageOf(messages, content)
    }
    return { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(stringifyJson(value)), value }
  }

  async close (): Promise<void> {
    // Nothing is open.
  }
}

function messagesOf (request: ModelRequest): readonly JsonObject[] {
  const messages = Object.hasOwn(request, 'messages') ? request['messages'] : undefined
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isObject)) {
    throw new UpstreamRefusal(400, openAiError('messages must be a list with at least one message', 'invalid_request_error', null))
  }
  return messages as readonly JsonObject[]
}

function echoOf (messages: readonly JsonObject[]): string {
  const said = messages.findLast(message => message['role'] === 'user') ?? messages.at(-1)
  return textOf(said?.['content'] ?? '')
}

/** The text of a message: as it is, or all text parts one after the other. */
function textOf (content: Json): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: Json) => isObject(part) && typeof part['text'] === 'string' ? part['text'] : '').join('')
}

/** Counts four characters as one token, as a rule of thumb has it. */
function usageOf (messages: readonly JsonObject[], content: string): JsonObject {
  const prompt = messages.reduce((sum, message) => sum + tokens(textOf(message['content'] ?? '')), 0)
  const completion = tokens(content)
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

function tokens (text: string): number {
  return Math.ceil(text.length / 4)
}
