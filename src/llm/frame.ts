import { isJsonObject, isTooDeep, type Json, type JsonObject, MAX_JSON_DEPTH, objectOf, stringifyJson } from '../base/json.ts'
import type { Redact } from '../base/redact.ts'
import { EventScanner, type ServerSentEvent } from '../runtime/server-sent-events.ts'
import { type AnswerReader, errorIn, failedChoice, finishOf, reportedError } from './answer.ts'
import { replyOf } from './history.ts'
import { openAiError, type UpstreamCode, UpstreamError } from './upstream-error.ts'

/** `content` is counted separately; the others are no texts that the model wrote. */
const OTHERS: ReadonlySet<string> = new Set(['content', 'role', 'tool_call_id'])

/** In bytes of UTF-8: its texts, and the arguments of its calls. */
export function writtenBytes (message: JsonObject): number {
  const { tool_calls: calls } = message
  return textBytes(message) + (Array.isArray(calls) ? calls.reduce((sum: number, call: Json) => sum + argumentBytes(call), 0) : 0)
}

/** Each provider names thoughts and refusals its own way (`reasoning_content`, `reasoning`); a text under two names counts once. */
export function textBytes (message: JsonObject): number {
  const { content = null } = message
  let bytes = contentBytes(content)
  // Most pieces have a content only, so the set is made when needed.
  let counted: Set<string> | undefined
  for (const name of Object.keys(message)) {
    const text = message[name]
    if (typeof text !== 'string' || OTHERS.has(name) || counted?.has(text) === true) continue
    bytes += Buffer.byteLength(text)
    counted = (counted ?? new Set()).add(text)
  }
  return bytes
}

/** In bytes; the content is a text or a list of parts. */
export function contentBytes (content: Json): number {
  if (typeof content === 'string') return Buffer.byteLength(content)
  if (!Array.isArray(content)) return 0
  return content.reduce((sum: number, part: Json) => {
    const text = isJsonObject(part) ? part['text'] : part
    return sum + (typeof text === 'string' ? Buffer.byteLength(text) : 0)
  }, 0)
}

function argumentBytes (call: Json): number {
  const { function: called = null } = objectOf(call)
  const { arguments: text } = objectOf(called)
  return typeof text === 'string' ? Buffer.byteLength(text) : 0
}

/** `comment` is an event without data: a comment, an `id`, a `retry`. */
export type Frame =
  { readonly bytes: Buffer } & (ChunkFrame | { readonly kind: 'comment' | 'done' } | { readonly kind: 'error', readonly error: UpstreamError })

export interface ChunkFrame {
  readonly kind: 'chunk'
  /** Its numbers are doubles: long ones have perhaps lost digits. */
  readonly chunk: JsonObject
  /** The text of `chunk`, with all digits. */
  readonly data: string
}

const DONE = '[DONE]'

export const DONE_EVENT = Buffer.from(`data: ${DONE}\n\n`)

/** Replaces events without content, by which some servers keep a connection alive: clients would try to parse them. */
const KEEPALIVE = Buffer.from(': keepalive\n\n')

export type FrameParser = EventScanner<Frame>

/** `maxEventBytes` bounds one event; `redact` replaces secrets in the API's words. */
export function createFrameParser (maxEventBytes: number, redact: Redact): FrameParser {
  return new EventScanner(maxEventBytes, event => toFrame(event, redact), message => new UpstreamError(message, { retryable: false }))
}

function toFrame ({ bytes, name, data, strangeLine }: ServerSentEvent, redact: Redact): Frame {
  if (strangeLine !== undefined) return { bytes, kind: 'error', error: malformed('an event holds a line that is none of the format') }
  if (data === undefined) return { bytes, kind: 'comment' }
  // Some servers write blanks around [DONE], which OpenAI's clients would not see as the end.
  if (data.trim() === DONE) return { bytes: data === DONE ? bytes : DONE_EVENT, kind: 'done' }
  if (isHeartbeat(data) && name !== 'error') return { bytes: KEEPALIVE, kind: 'comment' }
  const chunk = parseChunk(data)
  if (chunk instanceof UpstreamError) return { bytes, kind: 'error', error: chunk }
  const error = errorIn(chunk) ?? failedChoice(chunk)
  if (name === 'error' || error !== undefined) return { bytes, kind: 'error', error: reportedError(error ?? chunk, redact) }
  return { bytes, kind: 'chunk', chunk, data }
}

function isHeartbeat (data: string): boolean {
  // Most events begin with a bracket, and cost one comparison.
  if (data.charCodeAt(0) === 0x7b) return false
  const text = data.trim()
  return text === '' || text === 'null' || text === '[]' || text.startsWith(':')
}

function parseChunk (data: string): JsonObject | UpstreamError {
  let chunk: Json
  try {
    chunk = JSON.parse(data) as Json
  } catch {
    return malformed('an event is not JSON')
  }
  if (!isJsonObject(chunk)) return malformed('an event is not a JSON object')
  const { choices = null } = chunk
  if (choices !== null && !Array.isArray(choices) && errorIn(chunk) === undefined) {
    return new UpstreamError('the "choices" of an event are no list', { retryable: true })
  }
  return isTooDeep(data) ? malformed(`an event nests deeper than ${MAX_JSON_DEPTH}`) : chunk
}

function malformed (reason: string): UpstreamError {
  return new UpstreamError(reason, { retryable: false })
}

/** The format that this service documents; OpenAI's client throws it as an error. */
export function errorEvent (
  { message, code, upstream }: { readonly message: string, readonly code?: string | undefined, readonly upstream?: UpstreamCode | undefined }
): Buffer {
  return Buffer.from(
    `data: ${stringifyJson(openAiError(`The model's answer was cut short: ${message}`, upstream?.type ?? 'upstream_error', upstream?.code ?? code ?? 'LLM_UPSTREAM'))}\n\n`
  )
}

/** OpenAI's own limit of `n` is 128; without a limit an API could make the map of choices grow for ever. */
const MAX_CHOICES = 1000

/** In bytes, of the texts that are read for a trace. */
const MAX_READ = 1024 * 1024

/** Decides at the end whether a stream is whole or cut; reads only the members it needs, since providers add what they like. */
export class StreamJudge {
  readonly #expectedChoices: number
  /** The reasons why they have ended; `undefined` while they are open. */
  readonly #choices = new Map<Json, string | undefined>()
  readonly #reader: AnswerReader | undefined
  #chunks = 0
  #id: string | undefined
  isDone = false
  usage: JsonObject | undefined
  model: string | undefined
  /** In bytes of UTF-8. */
  bytes = 0

  /** @param reader gets the beginning of the stream, where a trace has what was said */
  constructor (expectedChoices: number, reader?: AnswerReader) {
    this.#expectedChoices = expectedChoices
    this.#reader = reader
  }

  /** @throws UpstreamError for a frame that must not be passed on */
  judge (frame: Frame): void {
    switch (frame.kind) {
      case 'chunk': return this.#read(frame.chunk)
      case 'comment': return
      case 'error': throw frame.error
      case 'done':
        this.requireChunk()
        this.isDone = true
    }
  }

  /** Whole even without `[DONE]`: every choice has its `finish_reason`. */
  get isFinished (): boolean {
    if (this.#choices.size < this.#expectedChoices) return false
    return [...this.#choices.values()].every(reason => reason !== undefined)
  }

  /** In the form of a whole reply: the id and, of each choice, the reason why it ended, with the answers as far as they were read. */
  get reply (): JsonObject {
    const { choices: answers = [] } = this.#reader === undefined ? {} : replyOf(this.#reader.answers(), {})
    const choices = Array.from(this.#choices.values(), (reason, index) => ({ ...objectOf((answers as readonly Json[])[index]), finish_reason: reason ?? null }))
    return { id: this.#id ?? null, choices }
  }

  /** @throws UpstreamError when no chunk has come, or none has had a choice */
  requireChunk (): void {
    if (this.#chunks === 0) throw new UpstreamError('the stream is empty', { retryable: false })
    if (this.#choices.size === 0) throw new UpstreamError('the stream has no choices', { retryable: true })
  }

  #read (chunk: JsonObject): void {
    this.#chunks++
    const { usage = null, model, id, choices } = chunk
    if (isJsonObject(usage)) this.usage = usage
    if (typeof model === 'string') this.model = model
    if (typeof id === 'string') this.#id = id
    if (!Array.isArray(choices)) return
    for (const choice of choices as readonly Json[]) {
      if (isJsonObject(choice)) this.#readChoice(choice)
    }
    if (this.bytes <= MAX_READ) this.#reader?.add(chunk)
    if (this.#choices.size > MAX_CHOICES) throw new UpstreamError(`the stream has more than ${MAX_CHOICES} choices`, { retryable: false })
  }

  #readChoice (choice: JsonObject): void {
    const { index = 0, delta = null } = choice
    const reason = finishOf(choice)
    if (reason !== undefined || !this.#choices.has(index)) this.#choices.set(index, reason)
    if (isJsonObject(delta)) this.bytes += writtenBytes(delta)
  }
}
