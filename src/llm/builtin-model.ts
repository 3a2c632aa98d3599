import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { isJsonObject, type Json, type JsonObject, listOf, ownField, stringifyJson, textIn } from '../base/json.ts'
import {
  type Answers, type AskByKind, type CallOptions, MAX_EVENT_BYTES, type ModelReply, type ModelStream, type ModelUpstream, type Operation,
  type OperationKind, type StreamEnd
} from './model-client.ts'
import { objectOf } from './model-request.ts'
import { statusError } from './judge-reply.ts'
import type { OpenCall } from './answer.ts'
import { createFrameParser, type Frame, writtenBytes } from './frame.ts'
import { openAiError, UpstreamRefusal } from './upstream-error.ts'

export interface ReplyRule {
  readonly last?: string | readonly string[]
  readonly user?: string | readonly string[]
  readonly system?: string | readonly string[]
  readonly offers?: string | boolean
  readonly reply?: string
  readonly calls?: NonNullable<BuiltinAnswer['calls']>
  readonly fail?: { readonly status: number, readonly message?: string }
}

/** The first rule that matches answers; without one the request is echoed. `fail` throws what an API over HTTP would throw. */
export function followScript (rules: readonly ReplyRule[]): (request: BuiltinRequest) => BuiltinAnswer {
  const prepared = rules.map(rule => ({ rule, last: textsOf(rule.last), user: textsOf(rule.user), system: textsOf(rule.system) }))
  return request => {
    const said = saidIn(request)
    const chosen = prepared.find(
      ({ rule, last, user, system }) =>
        holds(last, said.last) && holds(user, said.user) && holds(system, said.system) && isOffered(rule.offers, said.offered)
    )
    if (chosen === undefined) return echo(request)
    const { reply, calls, fail } = chosen.rule
    if (fail !== undefined) throw failure(fail)
    return { text: reply, calls }
  }
}

function saidIn ({ messages, fields }: BuiltinRequest) {
  const instructions = messages.filter(({ role }) => role === 'system' || role === 'developer')
  const tools = listOf(fields['tools'])
  return {
    last: folded(textOf(messages.at(-1))),
    user: folded(textOf(messages.findLast(({ role }) => role === 'user'))),
    system: folded(instructions.map(textOf).join('\n')),
    offered: new Set(tools.map(nameOf))
  }
}

function nameOf (tool: Json): Json {
  return ownField(ownField(tool, 'function'), 'name') ?? null
}

function isOffered (wanted: string | boolean | undefined, offered: ReadonlySet<Json>): boolean {
  if (wanted === undefined) return true
  return typeof wanted === 'string' ? offered.has(wanted) : wanted === (offered.size > 0)
}

function holds (texts: readonly string[], said: string): boolean {
  return texts.every(text => said.includes(text))
}

function textsOf (condition: string | readonly string[] | undefined): string[] {
  return [condition ?? []].flat().map(folded)
}

/** Composed Unicode in lower case, so that texts which look the same are equal. */
function folded (text: string): string {
  return text.normalize('NFC').toLowerCase()
}

function failure ({ status, message = `the script fails here with status ${status}` }: NonNullable<ReplyRule['fail']>): Error {
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  const body = Buffer.from(stringifyJson(openAiError(message, type, null)))
  return statusError({ status, headers: {}, body }, text => text)
}

export function echo ({ messages }: BuiltinRequest): BuiltinAnswer {
  return { text: textOf(messages.findLast(message => message['role'] === 'user') ?? messages.at(-1)) }
}

interface BuiltinRequest {
  readonly messages: readonly JsonObject[]
  readonly fields: JsonObject
}

/** For trying things out without a network, in OpenAI's format. Four characters count as one token. It has no embeddings. */
export class BuiltinModel implements ModelUpstream {
  readonly #kind: string
  readonly #answerTo: (request: BuiltinRequest) => BuiltinAnswer
  readonly #byKind: AskByKind = {
    chat: async ({ request, call }) => this.#complete(objectOf(request), call),
    stream: async ({ request, call }) => this.#stream(objectOf(request), call),
    frames: async ({ request, call }) => {
      const { events, ended } = this.#stream(objectOf(request), call)
      return { frames: framesOf(events), ended }
    },
    embeddings: async () => { throw new UpstreamRefusal(404, openAiError(`builtin:${this.#kind} has no embeddings`, 'invalid_request_error', null)) }
  }

  /** @param answer throws UpstreamError or UpstreamRefusal, to act like an API over HTTP that fails */
  constructor (kind: string, answer: (request: BuiltinRequest) => BuiltinAnswer) {
    this.#kind = kind
    this.#answerTo = answer
  }

  ask<Kind extends OperationKind> (operation: Operation<Kind>): Promise<Answers[Kind]> {
    return this.#byKind[operation.kind](operation)
  }

  async close (): Promise<void> {
  }

  #complete (request: JsonObject, call: CallOptions): ModelReply {
    const value = completionOf(this.#answer(request, call))
    return { body: Buffer.from(stringifyJson(value)), value }
  }

  #stream (request: JsonObject, call: CallOptions): ModelStream {
    const answer = this.#answer(request, call)
    const wantsUsage = (request['stream_options'] as JsonObject | undefined)?.['include_usage'] === true
    const events = Readable.from(eventsOf(answer, wantsUsage), { objectMode: false })
    const leave = () => events.destroy()
    const traced = call.watch?.traced
    call.signal.addEventListener('abort', leave, { once: true })
    const ended = new Promise<StreamEnd>(resolve => events.once('close', () => {
      call.signal.removeEventListener('abort', leave)
      const { head: { model }, message, usage } = answer
      resolve({ outcome: events.readableEnded ? 'complete' : 'left', model, usage, bytes: writtenBytes(message), reply: traced && completionOf(answer) })
    }))
    return { events, ended }
  }

  #answer (request: JsonObject, { signal }: CallOptions): FinishedAnswer {
    signal.throwIfAborted()
    const messages = messagesOf(request)
    return finishAnswer(this.#kind, request, messages, this.#answerTo({ messages, fields: request }))
  }
}

async function * framesOf (events: Readable): AsyncGenerator<readonly Frame[], void> {
  const parser = createFrameParser(MAX_EVENT_BYTES, text => text)
  for await (const bytes of events) yield [...parser.feed(bytes as Buffer)]
}

interface BuiltinAnswer {
  readonly text?: string | undefined
  readonly calls?: ReadonlyArray<{ readonly name: string, readonly arguments?: JsonObject | undefined }> | undefined
}

interface FinishedAnswer {
  readonly head: { readonly id: string, readonly created: number, readonly model: string, readonly system_fingerprint: string }
  readonly message: JsonObject
  readonly text: string
  readonly calls: readonly OpenCall[]
  readonly finish: string
  readonly usage: JsonObject
}

function finishAnswer (kind: string, request: JsonObject, messages: readonly JsonObject[], answer: BuiltinAnswer): FinishedAnswer {
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

function completionOf ({ head, message, finish, usage }: FinishedAnswer): JsonObject {
  return { ...head, object: 'chat.completion', choices: [{ index: 0, message, logprobs: null, finish_reason: finish }], usage }
}

function * eventsOf ({ head, message, text, calls, finish, usage }: FinishedAnswer, wantsUsage: boolean): Generator<string> {
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

function functionCall ({ id, name }: OpenCall, text: string): JsonObject {
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

/** @throws UpstreamRefusal when the request has no messages */
function messagesOf (request: JsonObject): readonly JsonObject[] {
  const messages = ownField(request, 'messages')
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isJsonObject)) {
    throw new UpstreamRefusal(400, openAiError('messages must be a list with at least one message', 'invalid_request_error', null))
  }
  return messages as readonly JsonObject[]
}

function textOf (message: JsonObject | undefined): string {
  const content = message?.['content']
  return typeof content === 'string' ? content : listOf(content).map(part => textIn(part, 'text')).join('')
}
