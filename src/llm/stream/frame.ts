import { isJsonObject, isTooDeep, type Json, type JsonObject, MAX_JSON_DEPTH } from '../../base/json.ts'
import { type Redact } from '../../base/redact.ts'
import { reportedError } from '../provider/reported-error.ts'
import { UpstreamError } from '../upstream-error.ts'
import { EventScanner, type ServerSentEvent } from './server-sent-events.ts'

/** One event of a model's stream: the bytes to pass on, and what they say. */
export type Frame = { readonly bytes: Buffer } & (ChunkFrame | OtherFrame)

/** A piece of the answer. */
export interface ChunkFrame {
  readonly kind: 'chunk'
  /** For reading: its numbers are doubles. */
  readonly chunk: JsonObject
  /** The JSON text that `chunk` was parsed from, with all digits. */
  readonly data: string
}

type OtherFrame =
  /** An event without data: a comment, an `id`, a `retry`. */
  | { readonly kind: 'comment' }
  | { readonly kind: 'done' }
  /** The upstream reports an error, or sends what is no chunk. */
  | { readonly kind: 'error', readonly error: UpstreamError }

/** What ends a stream of OpenAI's API. */
const DONE = '[DONE]'

export const DONE_EVENT = Buffer.from(`data: ${DONE}\n\n`)

/** Parses the bytes of a stream of chat completion chunks. */
export type FrameParser = EventScanner<Frame>

/** @param maxEventBytes the size of one event. @param redact takes secrets out of the upstream's words */
export function createFrameParser (maxEventBytes: number, redact: Redact): FrameParser {
  return new EventScanner(maxEventBytes, event => toFrame(event, redact))
}

function toFrame ({ bytes, name, data, strangeLine }: ServerSentEvent, redact: Redact): Frame {
  if (strangeLine !== undefined) return { bytes, kind: 'error', error: malformed('an event holds a line that is none of the format') }
  if (data === undefined) return { bytes, kind: 'comment' }
  // Blanks around it, which some servers write, make it no end to OpenAI's clients.
  if (data.trim() === DONE) return { bytes: data === DONE ? bytes : DONE_EVENT, kind: 'done' }
  const chunk = parseChunk(data)
  if (chunk instanceof UpstreamError) return { bytes, kind: 'error', error: chunk }
  const error = Object.hasOwn(chunk, 'error') ? chunk['error'] ?? null : null
  if (name === 'error' || error !== null) return { bytes, kind: 'error', error: reportedError(error ?? chunk, redact) }
  return { bytes, kind: 'chunk', chunk, data }
}

function parseChunk (data: string): JsonObject | UpstreamError {
  let chunk: Json
  try {
    chunk = JSON.parse(data) as Json
  } catch {
    return malformed('an event is not JSON')
  }
  if (!isJsonObject(chunk)) return malformed('an event is not a JSON object')
  return isTooDeep(data) ? malformed(`an event nests deeper than ${MAX_JSON_DEPTH}`) : chunk
}

function malformed (reason: string): UpstreamError {
  return new UpstreamError(reason, { retryable: false })
}
