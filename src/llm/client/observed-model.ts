import { type ModelWatch, type Outcome } from '../../runtime/activity.ts'
import { ServiceError } from '../../base/errors.ts'
import { type CallOptions, type ForwardedEndpoint, type ModelReply, type ModelRequest, type ModelStream, type ModelUpstream, withOptions } from '../model-client.ts'
import { UpstreamRefusal } from '../upstream-error.ts'

/** An upstream whose calls are told to the activity that they are made for; waiting for a slot is a part of them. */
export class ObservedModel implements ModelUpstream {
  readonly #upstream: ModelUpstream
  readonly #name: string

  /** @param name the provider's */
  constructor (upstream: ModelUpstream, name: string) {
    this.#upstream = upstream
    this.#name = name
  }

  complete (request: ModelRequest, call: CallOptions): Promise<ModelReply> {
    const watch = call.activity?.beginModelCall('chat', this.#name, request)
    return watch === undefined ? this.#upstream.complete(request, call) : whole(watch, call, this.#upstream.complete(request, withOptions(call, { watch })))
  }

  forward (endpoint: ForwardedEndpoint, request: ModelRequest, call: CallOptions): Promise<ModelReply> {
    const watch = call.activity?.beginModelCall('embeddings', this.#name, request)
    return watch === undefined ? this.#upstream.forward(endpoint, request, call) : whole(watch, call, this.#upstream.forward(endpoint, request, withOptions(call, { watch })))
  }

  async stream (request: ModelRequest, call: CallOptions): Promise<ModelStream> {
    const watch = call.activity?.beginModelCall('chat', this.#name, request)
    if (watch === undefined) return await this.#upstream.stream(request, call)
    try {
      const stream = await this.#upstream.stream(request, withOptions(call, { watch }))
      watch.begun()
      void stream.ended.then(end => watch.streamed(end))
      return stream
    } catch (error) {
      watch.failed(outcomeOf(error, call))
      throw error
    }
  }

  close (): Promise<void> {
    return this.#upstream.close()
  }
}

async function whole (watch: ModelWatch, call: CallOptions, calling: Promise<ModelReply>): Promise<ModelReply> {
  try {
    const reply = await calling
    watch.replied(reply.value)
    return reply
  } catch (error) {
    watch.failed(outcomeOf(error, call))
    throw error
  }
}

function outcomeOf (error: unknown, { signal }: CallOptions): Outcome {
  if (signal.aborted) return 'CLIENT_CLOSED'
  if (error instanceof UpstreamRefusal) return 'REFUSED'
  return error instanceof ServiceError ? error.code : 'INTERNAL'
}
