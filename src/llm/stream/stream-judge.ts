import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { finishOf } from '../answer.ts'
import { UpstreamError } from '../upstream-error.ts'
import { type Frame } from './frame.ts'
import { writtenBytes } from './written-bytes.ts'

/** The greatest number of choices in one stream. OpenAI's own limit of `n` is 128. Without a limit an API could make the map of choices grow for ever. */
const MAX_CHOICES = 1000

/**
 * Reads the frames (parsed events) of a stream while they are passed on, to decide at the end whether the stream is whole or was cut. It reads only
 * the members of a chunk that it needs, since providers add what they like.
 */
export class StreamJudge {
  readonly #expectedChoices: number
  readonly #choices = new Map<Json, 'open' | 'finished'>()
  #chunks = 0
  /** Whether the API has sent `[DONE]`. */
  isDone = false
  /** How many tokens the call has used, if the API says so. */
  usage: JsonObject | undefined
  /** The name of the model, as the API gives it. */
  model: string | undefined
  /** The length of the model's answer so far, in bytes of UTF-8. */
  bytes = 0

  /** @param expectedChoices how many choices were asked for: the request's `n` */
  constructor (expectedChoices: number) {
    this.#expectedChoices = expectedChoices
  }

  /** Reads the next frame (event) of the stream. @throws UpstreamError for a frame that must not be passed on */
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

  /** Whether the answer is whole even if the stream ends without `[DONE]`: every choice has its `finish_reason`. */
  get isFinished (): boolean {
    if (this.#choices.size < this.#expectedChoices) return false
    return [...this.#choices.values()].every(state => state === 'finished')
  }

  /** Checks that the stream is not empty. @throws UpstreamError when no chunk has come, or none has had a choice */
  requireChunk (): void {
    if (this.#chunks === 0) throw new UpstreamError('the stream is empty', { retryable: false })
    if (this.#choices.size === 0) throw new UpstreamError('the stream has no choices', { retryable: true })
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
    if (this.#choices.size > MAX_CHOICES) throw new UpstreamError(`the stream has more than ${MAX_CHOICES} choices`, { retryable: false })
  }

  #readChoice (choice: JsonObject): void {
    const { index = 0, delta = null } = choice
    if (finishOf(choice) !== undefined) this.#choices.set(index, 'finished')
    else if (!this.#choices.has(index)) this.#choices.set(index, 'open')
    if (isJsonObject(delta)) this.bytes += writtenBytes(delta)
  }
}
