import { Readable } from 'node:stream'
import { type JsonObject, stringifyJson } from '../../base/json.ts'
import {
  type Answers,
  type AskByKind,
  type CallOptions,
  MAX_EVENT_BYTES,
  type ModelReply,
  type ModelRequest,
  type ModelStream,
  type ModelUpstream,
  type Operation,
  type OperationKind,
  type StreamEnd
} from '../model-client.ts'
import { createFrameParser, type Frame } from '../stream/frame.ts'
import { writtenBytes } from '../stream/written-bytes.ts'
import { openAiError, UpstreamRefusal } from '../upstream-error.ts'
import { type BuiltinAnswer, completionOf, eventsOf, finishAnswer, type FinishedAnswer } from './builtin-answer.ts'
import { messagesOf } from './request-texts.ts'

/** A request to a builtin model, whose messages have been checked. */
export interface BuiltinRequest {
  readonly messages: readonly JsonObject[]
  readonly fields: ModelRequest
}

export interface BuiltinModelOptions {
  /** The kind of the model, `echo` or `script`. It is also the model's name where a request names none. */
  readonly kind: string
  /** Gives the answer to a request. @throws UpstreamError or UpstreamRefusal, to act like an API over HTTP that fails */
  readonly answer: (request: BuiltinRequest) => BuiltinAnswer
}

/**
 * A model for trying things out, which needs no network. It answers in the format of OpenAI's API; `system_fingerprint` says which builtin model it
 * was. Four characters count as one token. It has no embeddings.
 */
export class BuiltinModel implements ModelUpstream {
  readonly #options: BuiltinModelOptions
  readonly #byKind: AskByKind = {
    chat: async ({ request, call }) => this.#complete(request, call),
    stream: async ({ request, call }) => this.#stream(request, call),
    frames: async ({ request, call }) => {
      const { events, ended } = this.#stream(request, call)
      return { frames: framesOf(events), ended }
    },
    embeddings: async () => { throw new UpstreamRefusal(404, openAiError(`builtin:${this.#options.kind} has no embeddings`, 'invalid_request_error', null)) }
  }

  constructor (options: BuiltinModelOptions) {
    this.#options = options
  }

  ask<Kind extends OperationKind> (operation: Operation<Kind>): Promise<Answers[Kind]> {
    return this.#byKind[operation.kind](operation)
  }

  async close (): Promise<void> {
    // A builtin model has no connections to close.
  }

  #complete (request: ModelRequest, call: CallOptions): ModelReply {
    const value = completionOf(this.#answer(request, call))
    return { body: Buffer.from(stringifyJson(value)), value }
  }

  #stream (request: ModelRequest, call: CallOptions): ModelStream {
    const answer = this.#answer(request, call)
    const wantsUsage = (request['stream_options'] as JsonObject | undefined)?.['include_usage'] === true
    const events = Readable.from(eventsOf(answer, wantsUsage), { objectMode: false })
    const leave = () => events.destroy()
    call.signal.addEventListener('abort', leave, { once: true })
    const ended = new Promise<StreamEnd>(resolve => events.once('close', () => {
      call.signal.removeEventListener('abort', leave)
      const { head: { model }, message, usage } = answer
      resolve({ outcome: events.readableEnded ? 'complete' : 'left', model, usage, bytes: writtenBytes(message) })
    }))
    return { events, ended }
  }

  #answer (request: ModelRequest, { signal }: CallOptions): FinishedAnswer {
    signal.throwIfAborted()
    const messages = messagesOf(request)
    const { kind, answer } = this.#options
    return finishAnswer(kind, request, messages, answer({ messages, fields: request }))
  }
}

async function * framesOf (events: Readable): AsyncGenerator<readonly Frame[], void> {
  const parser = createFrameParser(MAX_EVENT_BYTES, text => text)
  for await (const bytes of events) yield [...parser.feed(bytes as Buffer)]
}
