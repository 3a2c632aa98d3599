import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { isObject } from '../../template/value.ts'
import { type CallOptions, type ModelReply, type ModelRequest, type ModelStream, type StreamEnd } from '../model-client.ts'
import { openAiError, UpstreamRefusal } from '../upstream-error.ts'
import { type BuiltinModel } from './builtin-model.ts'

/** `LLM_BASE_URL=builtin:echo` chooses it. */
export const ECHO_URL = 'builtin:echo'

/** What is the same in a whole reply and in every chunk of a stream. */
interface Echo {
  readonly head: { readonly id: string, readonly created: number, readonly model: string }
  readonly content: string
  readonly usage: JsonObject
}

/**
 * A model for trying things out, without any network: it answers with the text of the last message of the user (or of
 * the last message, when the user has said nothing), in the shape of OpenAI's API. Its usage counts four characters as
 * one token. It has no embeddings.
 */
export class EchoModel implements BuiltinModel {
  async complete (request: ModelRequest, { signal }: CallOptions): Promise<ModelReply> {
    signal.throwIfAborted()
    const { head, content, usage } = echo(request)
    const value: JsonObject = {
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content, refusal: null }, logprobs: null, finish_reason: 'stop' }],
      usage
    }
    return { body: Buffer.from(stringifyJson(value)), value }
  }

  async stream (request: ModelRequest, { signal }: CallOptions): Promise<ModelStream> {
    signal.throwIfAborted()
    const answer = echo(request)
    const wantsUsage = (request['stream_options'] as JsonObject | undefined)?.['include_usage'] === true
    const events = Readable.from(eventsOf(answer, wantsUsage), { objectMode: false })
    const leave = () => events.destroy()
    signal.addEventListener('abort', leave, { once: true })
    const ended = new Promise<StreamEnd>(resolve => events.once('close', () => {
      signal.removeEventListener('abort', leave)
      const { head: { model }, content, usage } = answer
      resolve({ outcome: events.readableEnded ? 'complete' : 'left', model, usage, bytes: Buffer.byteLength(content) })
    }))
    return { events, ended }
  }

  async forward (): Promise<ModelReply> {
    throw new UpstreamRefusal(404, openAiError('builtin:echo has no embeddings', 'invalid_request_error', null))
  }
}

function echo (request: ModelRequest): Echo {
  const messages = messagesOf(request)
  const content = echoOf(messages)
  const model = typeof request['model'] === 'string' ? request['model'] : 'echo'
  return { head: { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model }, content, usage: usageOf(messages, content) }
}

/** One event a word, as a model would write them. */
function * eventsOf ({ head, content, usage }: Echo, wantsUsage: boolean): Generator<string> {
  const chunk = (choices: Json, more: JsonObject = {}) => `data: ${stringifyJson({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`
  const choice = (delta: JsonObject, finish: string | null = null) => chunk([{ index: 0, delta, logprobs: null, finish_reason: finish }])
  yield choice({ role: 'assistant', content: '' })
  for (const [word] of content.matchAll(/\s*\S+|\s+/g)) yield choice({ content: word })
  yield choice({}, 'stop')
  if (wantsUsage) yield chunk([], { usage })
  yield 'data: [DONE]\n\n'
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

function usageOf (messages: readonly JsonObject[], content: string): JsonObject {
  const prompt = messages.reduce((sum, message) => sum + tokens(textOf(message['content'] ?? '')), 0)
  const completion = tokens(content)
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

function tokens (text: string): number {
  return Math.ceil(text.length / 4)
}
