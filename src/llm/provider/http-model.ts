import { type Log } from '../../base/log.ts'
import { type Readable } from 'node:stream'
import { stringifyJson } from '../../base/json.ts'
import {
  type Answers,
  type AskByKind,
  type CallOptions,
  MAX_EVENT_BYTES,
  type ModelReply,
  type ModelTimeouts,
  type ModelUpstream,
  type Operation,
  type OperationKind,
  type StreamEnd
} from '../model-client.ts'
import { withoutConflicts } from '../exclusive-fields.ts'
import { UpstreamRefusal } from '../upstream-error.ts'
import { collectReply } from './collect-reply.ts'
import { Connections } from './connections.ts'
import { type UpstreamRequest } from './exchange.ts'
import { judgeReply } from './judge-reply.ts'
import { openStream, type StreamTerms } from './open-stream.ts'
import { type Redact } from '../../base/redact.ts'
import { redactHeaders } from './redact-headers.ts'
import { type UpstreamAddress } from './upstream-address.ts'

/** The options of a client for one API in OpenAI's format. */
export interface HttpModelOptions {
  readonly address: UpstreamAddress
  /** The API's key, which is sent as a bearer token. An empty one is not sent. */
  readonly apiKey?: string
  /** The operator's headers, which are added to every request. */
  readonly headers: Readonly<Record<string, string>>
  readonly timeouts: ModelTimeouts
  /** The greatest size of a reply, in bytes. */
  readonly maxReplyBytes: number
  readonly log: Log | undefined
}

/** The headers that the service itself sets in every call. The operator cannot set them. */
const OWN_HEADERS: ReadonlySet<string> = new Set(['content-type', 'x-request-id', 'traceparent'])

const COMPLETIONS = '/chat/completions'

const NOT_FOUND = 'it has no such path, or no such model; most base URLs end in /v1'

/**
 * The client of a model behind an HTTP API in OpenAI's format. It makes one attempt for each call. A failed attempt throws an UpstreamError,
 * whose `retryable` says whether another attempt makes sense, or an UpstreamRefusal.
 */
export class HttpModel implements ModelUpstream {
  readonly #options: HttpModelOptions
  readonly #connections: Connections
  /** The headers of every request: a name, its value, the next name, and so on. undici then need not read an object in every call. */
  readonly #headers: readonly string[]
  readonly #redact: Redact
  readonly #byKind: AskByKind = {
    chat: operation => this.#askWhole(COMPLETIONS, operation, 'choices'),
    embeddings: operation => this.#askWhole('/embeddings', operation, 'data'),
    stream: async operation => {
      const { readable, ended } = await this.#askStream(operation)
      return { events: readable, ended }
    },
    frames: async operation => {
      const { readable, ended } = await this.#askStream(operation)
      return { frames: readable, ended }
    }
  }

  constructor (options: HttpModelOptions) {
    this.#options = options
    this.#connections = new Connections(options.address.origin, options.timeouts.connect)
    const headers = new Map(Object.entries(options.headers).map(([name, value]) => [name.toLowerCase(), value]))
    if (options.apiKey !== undefined && options.apiKey !== '') headers.set('authorization', `Bearer ${options.apiKey}`)
    for (const name of OWN_HEADERS) headers.delete(name)
    this.#headers = ['content-type', 'application/json', ...[...headers].flat()]
    this.#redact = redactHeaders([...headers])
  }

  ask<Kind extends OperationKind> (operation: Operation<Kind>): Promise<Answers[Kind]> {
    return this.#byKind[operation.kind](operation)
  }

  close (): Promise<void> {
    return this.#connections.close()
  }

  async #askWhole (endpoint: string, { request, call }: Operation<'chat' | 'embeddings'>, member: string): Promise<ModelReply> {
    try {
      const reply = await collectReply(this.#post(endpoint, stringifyJson(withoutConflicts(request)), call), this.#options.maxReplyBytes)
      return judgeReply(reply, member, this.#redact)
    } catch (error) {
      this.#warnOfNotFound(error, endpoint, call)
      throw error
    }
  }

  async #askStream ({ kind, request, call }: Operation<'stream' | 'frames'>): Promise<{ readable: Readable, ended: Promise<StreamEnd> }> {
    let resolveEnded: (end: StreamEnd) => void
    const ended = new Promise<StreamEnd>(resolve => { resolveEnded = resolve })
    const terms: StreamTerms = {
      as: kind === 'frames' ? 'frames' : 'bytes',
      choices: typeof request['n'] === 'number' ? request['n'] : 1,
      maxEventBytes: MAX_EVENT_BYTES,
      redact: this.#redact,
      ended: end => {
        if (end.outcome === 'failed') this.#options.log?.warn({ requestId: call.requestId, err: end.error }, 'model stream failed')
        resolveEnded(end)
      }
    }
    try {
      const readable = await openStream(this.#post(COMPLETIONS, stringifyJson(withoutConflicts({ ...request, stream: true })), call), terms)
      return { readable, ended }
    } catch (error) {
      this.#warnOfNotFound(error, COMPLETIONS, call)
      throw error
    }
  }

  /** Warns the operator, in the log, that the API has answered 404: perhaps the configured address is wrong. The caller cannot know that. */
  #warnOfNotFound (error: unknown, endpoint: string, { requestId }: CallOptions): void {
    if (!(error instanceof UpstreamRefusal) || error.status !== 404) return
    this.#options.log?.warn({ requestId, path: this.#options.address.pathOf(endpoint), reason: NOT_FOUND }, 'model API answered with status 404')
  }

  #post (endpoint: string, body: string, { signal, requestId, watch, tally }: CallOptions): UpstreamRequest {
    const { address, timeouts } = this.#options
    const traceparent = watch?.traceparent
    const headers = [...this.#headers, 'x-request-id', requestId]
    if (traceparent !== undefined) headers.push('traceparent', traceparent)
    return { connections: this.#connections, path: `${address.pathOf(endpoint)}${address.query}`, headers, body, timeouts, signal, tally }
  }
}
