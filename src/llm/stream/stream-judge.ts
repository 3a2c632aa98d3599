import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { UpstreamError } from '../upstream-error.ts'
import { type Frame } from './frame.ts'
import { writtenBytes } from './written-bytes.ts'

/** OpenAI's own limit of `n` is 128; without one an upstream could make the map of choices grow. */
const MAX_CHOICES = 1000

/**
 * Reads the frames of a stream along, so that the relay can tell at the end whether the stream is whole or cut. The judge
 * knows only the members of a chunk that it needs, since providers add what they like.
 */
export class StreamJudge {
  readonly #expectedChoices: number
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

  /** @param expectedChoices the request's `n` */
  constructor (expectedChoices: number) {
    this.#expectedChoices = expectedChoices
  }

  /** Takes the next frame. @throws UpstreamError for one that must not be passed on */
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

  /** Whether the upstream may end here without `[DONE]`: every choice has its `finish_reason`. */
  get isFinished (): boolean {
    if (this.#choices.size < this.#expectedChoices) return false
    return [...this.#choices.values()].every(state => state === 'finished')
  }

  /** @throws UpstreamError when not a single chunk has come */
  requireChunk (): void {
    if (this.#chunks === 0) throw new UpstreamError('the stream is empty', { retryable: false })
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
    const { index = 0, finish_reason: finish, delta = null } = choice
    if (typeof finish === 'string') this.#choices.set(index, 'finished')
    else if (!this.#choices.has(index)) this.#choices.set(index, 'open')
    if (isJsonObject(delta)) this.bytes += writtenBytes(delta)
  }
}
