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
import { UpstreamRefusal } from '../upstream-error.ts'
import { collectReply } from './collect-reply.ts'
import { Connections } from './connections.ts'
import { type UpstreamRequest } from './exchange.ts'
import { judgeReply } from './judge-reply.ts'
import { openStream, type StreamTerms } from './open-stream.ts'
import { type Redact } from '../../base/redact.ts'
import { redactHeaders } from './redact-headers.ts'
import { type UpstreamAddress } from './upstream-address.ts'

/** One OpenAI-compatible API. */
export interface HttpModelOptions {
  readonly address: UpstreamAddress
  /** Sent as a bearer token; an empty one is none. */
  readonly apiKey?: string
  /** Further headers of every request. */
  readonly headers: Readonly<Record<string, string>>
  readonly timeouts: ModelTimeouts
  /** In bytes. */
  readonly maxReplyBytes: number
  readonly log: Log | undefined
}

/** What every call sets for itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set(['content-type', 'x-request-id', 'traceparent'])

const COMPLETIONS = '/chat/completions'

const NOT_FOUND = 'it has no such path, or no such model; most base URLs end in /v1'

/** A model behind an OpenAI-compatible HTTP API. It makes one attempt, and throws UpstreamError for an error that may be tried again. */
export class HttpModel implements ModelUpstream {
  readonly #options: HttpModelOptions
  readonly #connections: Connections
  /** Names and values in turn, which spares undici the reading of an object for every call. */
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
      const reply = await collectReply(this.#post(endpoint, stringifyJson(request), call), this.#options.maxReplyBytes)
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
      const readable = await openStream(this.#post(COMPLETIONS, stringifyJson({ ...request, stream: true }), call), terms)
      return { readable, ended }
    } catch (error) {
      this.#warnOfNotFound(error, COMPLETIONS, call)
      throw error
    }
  }

  /** The caller gets what the API says, and cannot know that the operator has mistyped an address. */
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
