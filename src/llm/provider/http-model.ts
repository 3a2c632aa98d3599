import { stringifyJson } from '../../base/json.ts'
import { CallBudget } from './call-budget.ts'
import { collectReply } from './collect-reply.ts'
import { Connections } from './connections.ts'
import { type UpstreamRequest } from './exchange.ts'
import { judgeReply } from './judge-reply.ts'
import { beginTally, type CallOptions, type ForwardedEndpoint, MAX_EVENT_BYTES, type ModelLog, type ModelReply, type ModelRequest, type ModelStream, type ModelTimeouts, type ModelUpstream, type StreamEnd } from '../model-client.ts'
import { openStream } from './open-stream.ts'
import { type Redact, redactHeaders } from './redact.ts'
import { type RetryPolicy, withRetries } from './retry.ts'
import { parseBaseUrl, type UpstreamAddress } from './upstream-address.ts'
import { UpstreamRefusal } from '../upstream-error.ts'

/** One OpenAI-compatible API. */
export interface HttpModelOptions {
  /** The provider's, for errors and the log. */
  readonly name: string
  /** Ends in `/v1` or its like. */
  readonly baseUrl: string
  /** Sent as a bearer token; an empty one is none. */
  readonly apiKey?: string
  /** Further headers of every request. */
  readonly headers?: Readonly<Record<string, string>>
  readonly timeouts: ModelTimeouts
  /** In bytes. */
  readonly maxReplyBytes: number
  readonly retry: RetryPolicy
  readonly log?: ModelLog
}

/** What every call sets for itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set(['content-type', 'x-request-id', 'traceparent'])

const NOT_FOUND = 'it has no such path, or no such model; most base URLs end in /v1'

/** The same log, every line with further facts. */
function naming (log: ModelLog, facts: object): ModelLog {
  return { warn: (more, message) => log.warn({ ...facts, ...more }, message) }
}

/** A model behind an OpenAI-compatible HTTP API. */
export class HttpModel implements ModelUpstream {
  readonly #options: HttpModelOptions
  readonly #address: UpstreamAddress
  readonly #connections: Connections
  readonly #log: ModelLog | undefined
  /** Names and values in turn, which spares undici the reading of an object for every call. */
  readonly #headers: readonly string[]
  readonly #redact: Redact

  /** @throws TypeError for a base URL that cannot be used */
  constructor (options: HttpModelOptions) {
    this.#options = options
    this.#address = parseBaseUrl(options.baseUrl)
    this.#connections = new Connections(this.#address.origin, options.timeouts.connect)
    this.#log = options.log && naming(options.log, { provider: options.name, address: this.#address.origin })
    const headers = new Map(Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]))
    if (options.apiKey !== undefined && options.apiKey !== '') headers.set('authorization', `Bearer ${options.apiKey}`)
    for (const name of OWN_HEADERS) headers.delete(name)
    this.#headers = ['content-type', 'application/json', ...[...headers].flat()]
    this.#redact = redactHeaders([...headers])
  }

  complete (request: ModelRequest, call: CallOptions): Promise<ModelReply> {
    return this.#ask('/chat/completions', request, call, 'choices')
  }

  forward (endpoint: ForwardedEndpoint, request: ModelRequest, call: CallOptions): Promise<ModelReply> {
    return this.#ask(endpoint, request, call, 'data')
  }

  async stream (request: ModelRequest, call: CallOptions): Promise<ModelStream> {
    const body = stringifyJson({ ...request, stream: true })
    const budget = this.#budget(call)
    let resolveEnded: (end: StreamEnd) => void
    const ended = new Promise<StreamEnd>(resolve => { resolveEnded = resolve })
    const terms = {
      choices: typeof request['n'] === 'number' ? request['n'] : 1,
      maxEventBytes: MAX_EVENT_BYTES,
      redact: this.#redact,
      ended: (end: StreamEnd) => {
        budget.end()
        if (end.outcome === 'failed') this.#log?.warn({ requestId: call.requestId, err: end.error }, 'model stream failed')
        resolveEnded(end)
      }
    }
    try {
      const events = await this.#retried(call, budget, '/chat/completions', () => openStream(this.#post('/chat/completions', body, call, budget), terms))
      return { events, ended }
    } catch (error) {
      budget.end()
      throw error
    }
  }

  close (): Promise<void> {
    return this.#connections.close()
  }

  /** Asks for a whole reply. */
  async #ask (endpoint: string, request: ModelRequest, call: CallOptions, member: string): Promise<ModelReply> {
    const body = stringifyJson(request)
    const budget = this.#budget(call)
    try {
      return await this.#retried(call, budget, endpoint, async () => {
        const reply = await collectReply(this.#post(endpoint, body, call, budget), this.#options.maxReplyBytes)
        return judgeReply(reply, member, this.#redact)
      })
    } finally {
      budget.end()
    }
  }

  #budget (call: CallOptions): CallBudget {
    const { total } = this.#options.timeouts
    return new CallBudget(call.signal, call.deadline === undefined ? total : Math.max(0, Math.min(total, call.deadline - performance.now())))
  }

  async #retried<T> ({ requestId, watch, tally = beginTally() }: CallOptions, budget: CallBudget, endpoint: string, attempt: () => Promise<T>): Promise<T> {
    const { retry: policy, name: provider } = this.#options
    try {
      return await withRetries({ policy, budget, log: this.#log, requestId, provider, tally, watch }, attempt)
    } catch (error) {
      // The caller is told what the API says, and cannot know that the operator has mistyped an address.
      if (error instanceof UpstreamRefusal && error.status === 404) this.#log?.warn({ requestId, path: this.#address.pathOf(endpoint), reason: NOT_FOUND }, 'model API answered with status 404')
      throw error
    }
  }

  #post (endpoint: string, body: string, call: CallOptions, budget: CallBudget): UpstreamRequest {
    return {
      connections: this.#connections,
      path: `${this.#address.pathOf(endpoint)}${this.#address.query}`,
      headers: this.#headersOf(call),
      body,
      timeouts: this.#options.timeouts,
      budget,
      tally: call.tally ?? beginTally()
    }
  }

  #headersOf ({ requestId, watch }: CallOptions): UpstreamRequest['headers'] {
    const traceparent = watch?.traceparent
    const headers = [...this.#headers, 'x-request-id', requestId]
    return traceparent === undefined ? headers : [...headers, 'traceparent', traceparent]
  }
}
