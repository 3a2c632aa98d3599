import { Pool } from 'undici'
import { stringifyJson } from '../json.ts'
import { CallBudget } from './call-budget.ts'
import { type CollectedReply, collectReply } from './collect-reply.ts'
import { type UpstreamRequest } from './exchange.ts'
import { judgeReply } from './judge-reply.ts'
import { type CallOptions, type ModelClient, type ModelLog, type ModelReply, type ModelRequest, type ModelTimeouts } from './model-client.ts'
import { type RetryPolicy, withRetries } from './retry.ts'
import { parseBaseUrl, type UpstreamAddress } from './upstream-address.ts'

/** One OpenAI-compatible API. */
export interface HttpModelOptions {
  /** Ends in `/v1` or its like. */
  readonly baseUrl: string
  readonly apiKey?: string
  /** Used when a request names none. */
  readonly model?: string
  /** Further headers of every request. */
  readonly headers?: Readonly<Record<string, string>>
  readonly timeouts: ModelTimeouts
  /** In bytes. */
  readonly maxReplyBytes: number
  readonly retry: RetryPolicy
  readonly log?: ModelLog
}

/** How long `close` waits for calls that are running, in ms. */
const CLOSE_GRACE = 1000

/** A model behind an OpenAI-compatible HTTP API. */
export class HttpModel implements ModelClient {
  readonly #options: HttpModelOptions
  readonly #address: UpstreamAddress
  readonly #pool: Pool
  readonly #headers: Readonly<Record<string, string>>
  #closing: Promise<void> | undefined

  /** @throws TypeError for a base URL that cannot be used */
  constructor (options: HttpModelOptions) {
    this.#options = options
    this.#address = parseBaseUrl(options.baseUrl)
    this.#pool = new Pool(this.#address.origin, { connect: { timeout: options.timeouts.connect } })
    this.#headers = {
      'content-type': 'application/json',
      ...options.headers,
      ...(options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` })
    }
  }

  async complete (request: ModelRequest, call: CallOptions): Promise<ModelReply> {
    const body = stringifyJson(this.#withModel(request))
    const budget = new CallBudget(call.signal, this.#options.timeouts.total)
    const { retry: policy, log, maxReplyBytes } = this.#options
    try {
      return await withRetries({ policy, budget, log, requestId: call.requestId }, async () => {
        const reply = await collectReply(this.#post('/chat/completions', body, call, budget), maxReplyBytes)
        return judgeReply(reply.status < 300 ? reply : this.#withoutKey(reply), 'choices')
      })
    } finally {
      budget.end()
    }
  }

  close (): Promise<void> {
    this.#closing ??= closePool(this.#pool)
    return this.#closing
  }

  #withModel (request: ModelRequest): ModelRequest {
    const { model } = this.#options
    return model === undefined || Object.hasOwn(request, 'model') ? request : { model, ...request }
  }

  /** An error body goes to the caller, and some gateways print the request's headers into it. */
  #withoutKey (reply: CollectedReply): CollectedReply {
    const { apiKey } = this.#options
    if (apiKey === undefined || !reply.body.includes(apiKey)) return reply
    return { ...reply, body: Buffer.from(reply.body.toString('utf8').replaceAll(apiKey, '[secret]')) }
  }

  #post (endpoint: string, body: string, call: CallOptions, budget: CallBudget): UpstreamRequest {
    return {
      dispatcher: this.#pool,
      path: this.#address.pathOf(endpoint),
      headers: { ...this.#headers, 'x-request-id': call.requestId },
      body,
      timeouts: this.#options.timeouts,
      signal: budget.signal
    }
  }
}

/** Waits for the calls that are running, then ends them. */
async function closePool (pool: Pool): Promise<void> {
  const grace = setTimeout(() => { pool.destroy().catch(() => {}) }, CLOSE_GRACE)
  await pool.close()
  clearTimeout(grace)
}
