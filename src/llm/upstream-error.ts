import { isJsonObject, type JsonObject } from '../base/json.ts'

/** Why one attempt at an upstream failed. The retry policy reads `retryable` and `retryAfter`, and so needs to know nothing of HTTP. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly retryable: boolean
  /** The upstream's status, when it answered at all. */
  readonly status: number | undefined
  /** How long the upstream asks to wait, in ms. */
  readonly retryAfter: number | undefined
  /** The message without what it quotes: logs hold this. */
  readonly summary: string
  /** The beginning of a reply that could not be used, without secrets. It is for the log, where values may be allowed. */
  readonly answer: string | undefined

  /**
   * @param summary the reason as a caller may read it: without addresses and credentials
   * @param facts with `quote` for the upstream's own words, which may repeat the request
   */
  constructor (
    summary: string,
    facts: { retryable: boolean, status?: number, retryAfter?: number | undefined, cause?: unknown, quote?: string, answer?: string }
  ) {
    super(facts.quote === undefined ? summary : `${summary}: ${facts.quote}`, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.summary = summary
    this.retryable = facts.retryable
    this.status = facts.status
    this.retryAfter = facts.retryAfter
    this.answer = facts.answer
  }
}

/** The API's words are quoted up to this length, in characters. */
const MAX_WORDS = 500

/** Statuses below 500 that another attempt may mend. */
const RETRIED_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])

/** Whether a status stands for a failure that may pass. */
export function isRetryableStatus (status: number): boolean {
  return status >= 500 || RETRIED_STATUSES.has(status)
}

/** The upstream refused this request, and the caller should know why: pass on `status` and `body`. */
export class UpstreamRefusal extends Error {
  override readonly name = 'UpstreamRefusal'
  /** A 4xx other than 401, 403, 408, 425 and 429. */
  readonly status: number
  /** The upstream's error body, or one of OpenAI's shape in its place. */
  readonly body: JsonObject

  constructor (status: number, body: JsonObject) {
    super(`The model's API refused the request with status ${status}`)
    this.status = status
    this.body = body
  }

  /** The message with the API's own words, where its body cannot be passed on. */
  get inWords (): string {
    const { error = null } = this.body
    const words = isJsonObject(error) ? error['message'] : error
    return typeof words === 'string' ? `${this.message}: ${words.slice(0, MAX_WORDS)}` : this.message
  }

  /** The API's own code, as `context_length_exceeded`. */
  get code (): string | undefined {
    const { error = null } = this.body
    const code = isJsonObject(error) ? error['code'] : undefined
    return typeof code === 'string' ? code : undefined
  }
}

/** An error body as OpenAI's API has it. */
export function openAiError (message: string, type: string, code: string | null): JsonObject {
  return { error: { message, type, param: null, code } }
}

/**
 * The error of a transport that failed: the connection was refused, reset or cut, or timed out.
 * @param error what undici or Node says
 */
export function transportError (error: Error & { code?: unknown }): UpstreamError {
  if (error instanceof UpstreamError) return error
  const code = typeof error.code === 'string' ? error.code : error.name
  const retryable = !OUR_FAULT.has(code)
  return new UpstreamError(TRANSPORT_REASONS.get(code) ?? `the connection failed (${code})`, { retryable, cause: error })
}

/** A request that undici will never send, or a client that has been closed. Another attempt cannot help. */
const OUR_FAULT: ReadonlySet<string> = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_CLOSED', 'UND_ERR_DESTROYED', 'UND_ERR_NOT_SUPPORTED'])

const TRANSPORT_REASONS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'the connection was refused'],
  ['ECONNRESET', 'the connection was reset'],
  ['EPIPE', 'the connection was closed'],
  ['ENOTFOUND', 'the host name is unknown'],
  ['EAI_AGAIN', 'the host name could not be resolved'],
  ['UND_ERR_SOCKET', 'the connection was closed'],
  ['UND_ERR_CONNECT_TIMEOUT', 'no connection within the time allowed'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'the reply was shorter or longer than announced'],
  ['UND_ERR_HEADERS_OVERFLOW', 'the headers of the reply are too large'],
  ['UND_ERR_INVALID_ARG', 'the request holds a header that cannot be sent'],
  ['UND_ERR_CLOSED', 'the service is shutting down'],
  ['UND_ERR_DESTROYED', 'the service is shutting down']
])
