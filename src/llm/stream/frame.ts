import { isJsonObject, isTooDeep, type Json, type JsonObject, MAX_JSON_DEPTH } from '../../base/json.ts'
import { type Redact } from '../provider/redact.ts'
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

/** Parses the bytes of a stream of chat completion chunks into frames. */
export class FrameParser {
  readonly #scanner: EventScanner
  readonly #redact: Redact

  /** @param maxEventBytes the size of one event. @param redact takes secrets out of the upstream's words */
  constructor (maxEventBytes: number, redact: Redact) {
    this.#scanner = new EventScanner(maxEventBytes)
    this.#redact = redact
  }

  /** Whether the beginning of an event is here that is no comment. */
  get isInEvent (): boolean {
    return this.#scanner.isInEvent
  }

  /** The frames that are complete with this piece. @throws UpstreamError for an event that is too large */
  * feed (piece: Buffer): Generator<Frame, void> {
    for (const event of this.#scanner.feed(piece)) yield this.#frame(event)
  }

  /** Ends the stream: the rest, if there is one, is an event whose blank line is added. */
  * finish (): Generator<Frame, void> {
    for (const event of this.#scanner.finish()) yield this.#frame(event)
  }

  #frame ({ bytes, name, data, strangeLine }: ServerSentEvent): Frame {
    if (strangeLine !== undefined) return { bytes, kind: 'error', error: malformed('an event holds a line that is none of the format') }
    if (data === undefined) return { bytes, kind: 'comment' }
    // Blanks around it, which some servers write, make it no end to OpenAI's clients.
    if (data.trim() === DONE) return { bytes: data === DONE ? bytes : DONE_EVENT, kind: 'done' }
    const chunk = parseChunk(data)
    if (chunk instanceof UpstreamError) return { bytes, kind: 'error', error: chunk }
    const { error = null } = Object.hasOwn(chunk, 'error') ? chunk : {}
    if (name === 'error' || error !== null) return { bytes, kind: 'error', error: reportedError(error ?? chunk, this.#redact) }
    return { bytes, kind: 'chunk', chunk, data }
  }
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
