import { LRUCache } from 'lru-cache'
import { contentHash, type Json, stringifyJson } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'
import { type CallOptions, type ForwardedEndpoint, type ModelReply, type ModelRequest, type ModelStream, type ModelUpstream } from '../model-client.ts'
import { UpstreamRefusal } from '../upstream-error.ts'

/** Refusals that are remembered, and of the names of their models, in characters; callers can make up as many as they like. */
const MAX_REMEMBERED = 1000
const MAX_MODEL_NAME = 200

/** How long, in ms: an upstream may learn. */
const REMEMBERED_FOR = 3_600_000

/**
 * An upstream whose models may not know `response_format`. Where it is a wish, a model that refuses it is asked again
 * without it, and from then on at once: for that very format, since what is refused may be one prompt's schema, and once
 * it has answered without, since its mistake may have been another one.
 */
export class FormatTolerantModel implements ModelUpstream {
  readonly #upstream: ModelUpstream
  readonly #refused = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: REMEMBERED_FOR })

  constructor (upstream: ModelUpstream) {
    this.#upstream = upstream
  }

  complete (request: ModelRequest, call: CallOptions): Promise<ModelReply> {
    return this.#ask(request, call, asked => this.#upstream.complete(asked, call))
  }

  stream (request: ModelRequest, call: CallOptions): Promise<ModelStream> {
    return this.#ask(request, call, asked => this.#upstream.stream(asked, call))
  }

  forward (endpoint: ForwardedEndpoint, request: ModelRequest, call: CallOptions): Promise<ModelReply> {
    return this.#upstream.forward(endpoint, request, call)
  }

  close (): Promise<void> {
    return this.#upstream.close()
  }

  #ask<T> (request: ModelRequest, call: CallOptions, ask: (request: ModelRequest) => Promise<T>): Promise<T> {
    const isWish = call.optionalFormat === true && Object.hasOwn(request, 'response_format')
    return isWish ? this.#askOrDoWithout(request, ask) : ask(request)
  }

  async #askOrDoWithout<T> (request: ModelRequest, ask: (request: ModelRequest) => Promise<T>): Promise<T> {
    const model = beginningOf(String(request['model'] ?? ''), MAX_MODEL_NAME)
    const { response_format: format, ...without } = request
    const key = (): string => `${contentHash(format as Json)} ${model}`
    // Mostly nothing was ever refused, and a schema takes time to hash.
    if (this.#refused.size > 0 && this.#refused.has(key())) return await ask(without)
    try {
      return await ask(request)
    } catch (error) {
      if (!isFormatRefusal(error)) throw error
      const answer = await ask(without)
      this.#refused.set(key(), true)
      return answer
    }
  }
}

/** Providers agree on no code for it, but all of them name what they do not know. */
function isFormatRefusal (error: unknown): boolean {
  if (!(error instanceof UpstreamRefusal) || ![400, 404, 422].includes(error.status)) return false
  return /response_?format|json_schema|structured.?output/i.test(stringifyJson(error.body))
}
