import { isTooDeep, type Json, type JsonObject, MAX_JSON_DEPTH } from '../../base/json.ts'
import { type Redact } from '../provider/redact.ts'
import { reportedError } from '../provider/reported-error.ts'
import { type ServerSentEvent } from './server-sent-events.ts'
import { UpstreamError } from '../upstream-error.ts'
import { writtenBytes } from './written-bytes.ts'

/** What ends a stream of OpenAI's API. */
const DONE = '[DONE]'

/** OpenAI's own limit of `n` is 128; without one an upstream could make the map of choices grow. */
const MAX_CHOICES = 1000

/**
 * Reads a stream of chat completion chunks along, event by event, so that its end can be told truly: whole, or cut. Knows
 * only what it needs of a chunk, since providers add what they like.
 */
export class StreamJudge {
  readonly #expectedChoices: number
  readonly #redact: Redact
  readonly #choices = new Map<Json, 'open' | 'finished'>()
  #chunks = 0
  /** Whether the upstream has said `[DONE]`. */
  isDone = false
  /** The upstream's count of tokens, when it sends one. */
  usage: JsonObject | undefined
  /** The model, as the upstream names it. */
  model: string | undefined
  /** What the model has written as UTF-8. */
  bytes = 0

  /** @param expectedChoices the request's `n`. @param redact takes secrets out of the upstream's words */
  constructor (expectedChoices: number, redact: Redact) {
    this.#expectedChoices = expectedChoices
    this.#redact = redact
  }

  /** Takes the next event. @throws UpstreamError when the upstream reports an error, or is not telling chunks */
  judge (event: ServerSentEvent): void {
    if (event.strangeLine !== undefined) throw malformed('an event holds a line that is none of the format')
    if (event.data === undefined) return
    if (event.data.trim() === DONE) {
      if (this.#chunks === 0) throw malformed('the stream is empty')
      this.isDone = true
      return
    }
    const chunk = parseChunk(event.data)
    const error = Object.hasOwn(chunk, 'error') ? chunk['error'] : null
    if (event.name === 'error' || (error !== null && error !== undefined)) throw reportedError(error ?? chunk, this.#redact)
    this.#read(chunk)
  }

  /** Whether the upstream may end here without `[DONE]`: every choice has its `finish_reason`. */
  get isFinished (): boolean {
    if (this.#choices.size < this.#expectedChoices) return false
    return [...this.#choices.values()].every(state => state === 'finished')
  }

  /** Whether not a single chunk has come. */
  get isEmpty (): boolean {
    return this.#chunks === 0
  }

  #read (chunk: JsonObject): void {
    this.#chunks++
    const { usage = null, model, choices } = chunk
    if (isJsonObject(usage)) this.usage = usage
    if (typeof model === 'string') this.model = model
    if (!Array.isArray(choices)) return
    for (const choice of choices as readonly Json[]) {
      if (isJsonObject(choice)) this.#readChoice(choice)
    }
    if (this.#choices.size > MAX_CHOICES) throw malformed(`the stream has more than ${MAX_CHOICES} choices`)
  }

  #readChoice (choice: JsonObject): void {
    const { index = 0, finish_reason: finish, delta = null } = choice
    if (typeof finish === 'string') this.#choices.set(index, 'finished')
    else if (!this.#choices.has(index)) this.#choices.set(index, 'open')
    if (isJsonObject(delta)) this.bytes += writtenBytes(delta)
  }
}

function parseChunk (data: string): JsonObject {
  let chunk: Json = null
  try {
    // Read along, never sent on: the bytes are.
    chunk = JSON.parse(data) as Json
  } catch {
    throw malformed('an event is not JSON')
  }
  if (!isJsonObject(chunk)) throw malformed('an event is not a JSON object')
  if (isTooDeep(data)) throw malformed(`an event nests deeper than ${MAX_JSON_DEPTH}`)
  return chunk
}

function isJsonObject (value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function malformed (reason: string): UpstreamError {
  return new UpstreamError(reason, { retryable: false })
}
