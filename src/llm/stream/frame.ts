import { isJsonObject, isTooDeep, type Json, type JsonObject, MAX_JSON_DEPTH } from '../../base/json.ts'
import { type Redact } from '../../base/redact.ts'
import { errorIn, failedChoice } from '../answer.ts'
import { reportedError } from '../provider/reported-error.ts'
import { UpstreamError } from '../upstream-error.ts'
import { EventScanner, type ServerSentEvent } from '../../runtime/server-sent-events.ts'

/** A frame: one event of a model's streamed answer, with the bytes to pass on and their meaning. */
export type Frame = { readonly bytes: Buffer } & (ChunkFrame | OtherFrame)

/** A frame that is a piece of the answer. */
export interface ChunkFrame {
  readonly kind: 'chunk'
  /** The piece as parsed JSON. Its numbers are doubles: long numbers have perhaps lost digits. */
  readonly chunk: JsonObject
  /** The JSON text from which `chunk` was parsed, with all digits. */
  readonly data: string
}

type OtherFrame =
  /** An event without data: a comment, an `id`, a `retry`. */
  | { readonly kind: 'comment' }
  | { readonly kind: 'done' }
  /** An event in which the API reports an error, or that is no piece of an answer. */
  | { readonly kind: 'error', readonly error: UpstreamError }

/** The data of the event that ends a stream of OpenAI's API. */
const DONE = '[DONE]'

export const DONE_EVENT = Buffer.from(`data: ${DONE}\n\n`)

/** The comment that is passed on in place of an event without content, by which some servers keep a connection alive: clients would try to parse it. */
const KEEPALIVE = Buffer.from(': keepalive\n\n')

/** Parses the bytes of a streamed chat completion into frames. */
export type FrameParser = EventScanner<Frame>

/** Makes the parser of a streamed chat completion. @param maxEventBytes the greatest size of one event @param redact replaces secrets in the API's words */
export function createFrameParser (maxEventBytes: number, redact: Redact): FrameParser {
  return new EventScanner(maxEventBytes, event => toFrame(event, redact), message => new UpstreamError(message, { retryable: false }))
}

function toFrame ({ bytes, name, data, strangeLine }: ServerSentEvent, redact: Redact): Frame {
  if (strangeLine !== undefined) return { bytes, kind: 'error', error: malformed('an event holds a line that is none of the format') }
  if (data === undefined) return { bytes, kind: 'comment' }
  // Some servers write blanks around [DONE]. OpenAI's clients would not see it as the end, so it is written anew.
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
