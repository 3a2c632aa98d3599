import { modelBusy } from '../../base/errors.ts'
import { type CallOptions, type ForwardedEndpoint, type ModelReply, type ModelRequest, type ModelStream, type ModelUpstream } from '../model-client.ts'
import { NoSlotError, type Release, Slots, type SlotLimits } from '../../runtime/slots.ts'

/** What a caller is told to wait when everything is taken, in s. */
const RETRY_AFTER = 1

/** How many calls a provider takes at a time, and how many may wait, unless its limits say otherwise. */
export const DEFAULT_LIMITS = { concurrency: 1000, queue: 100 } as const

/** An upstream that takes so many calls at a time: a whole call with its retries, and a stream up to its end, is one. */
export class LimitedModel implements ModelUpstream {
  readonly #upstream: ModelUpstream
  readonly #name: string
  readonly #slots: Slots

  /** @param name the provider's, as LLM_BUSY tells it */
  constructor (upstream: ModelUpstream, name: string, limits: SlotLimits) {
    this.#upstream = upstream
    this.#name = name
    this.#slots = new Slots(limits)
  }

  complete (request: ModelRequest, call: CallOptions): Promise<ModelReply> {
    return this.#inSlot(call, () => this.#upstream.complete(request, call))
  }

  forward (endpoint: ForwardedEndpoint, request: ModelRequest, call: CallOptions): Promise<ModelReply> {
    return this.#inSlot(call, () => this.#upstream.forward(endpoint, request, call))
  }

  async stream (request: ModelRequest, call: CallOptions): Promise<ModelStream> {
    const release = await this.#acquire(call)
    try {
      const stream = await this.#upstream.stream(request, call)
      stream.ended.then(release, release)
      return stream
    } catch (error) {
      release()
      throw error
    }
  }

  close (): Promise<void> {
    return this.#upstream.close()
  }

  async #inSlot<T> (call: CallOptions, work: () => Promise<T>): Promise<T> {
    const release = await this.#acquire(call)
    try {
      return await work()
    } finally {
      release()
    }
  }

  async #acquire (call: CallOptions): Promise<Release> {
    try {
      return await this.#slots.acquire(call.signal)
    } catch (error) {
      throw error instanceof NoSlotError ? modelBusy(this.#name, RETRY_AFTER) : error
    }
  }
}
