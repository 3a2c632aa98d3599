import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'

/**
 * The error of one failed attempt at a model API (the upstream). The code that retries reads `retryable` and `retryAfter`, and so needs to know
 * nothing of HTTP.
 */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly retryable: boolean
  /** The HTTP status of the API's answer; `undefined` when it gave none. */
  readonly status: number | undefined
  /** How long the API asks to wait, in ms. */
  readonly retryAfter: number | undefined
  /** The error's message without the API's own words. The log shows this text. */
  readonly summary: string
  /** The API's own code and type of the error, such as `insufficient_quota`. */
  readonly upstream: UpstreamCode | undefined
  /** The beginning of a reply that could not be used, without secrets. It is logged only when `LOG_VALUES` is on. */
  readonly answer: string | undefined

  /**
   * @param summary the reason in words that the caller is allowed to read: without addresses and credentials
   * @param facts further facts; `quote` has the API's own words, which can repeat parts of the request
   */
  constructor (
    summary: string,
    facts: {
      retryable: boolean
      status?: number
      retryAfter?: number | undefined
      cause?: unknown
      quote?: string
      answer?: string
      upstream?: UpstreamCode | undefined
    }
  ) {
    super(facts.quote === undefined ? summary : `${summary}: ${facts.quote}`, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.summary = summary
    this.retryable = facts.retryable
    this.status = facts.status
    this.retryAfter = facts.retryAfter
    this.answer = facts.answer
    this.upstream = facts.upstream
  }
}

/** The code and the type that an API gives its error. Clients tell a quota that is used up from a rate limit by them. */
export interface UpstreamCode {
  readonly code?: string
  readonly type?: string
}

/** The longest code or type that is kept, in characters. */
const MAX_CODE = 100

/** The code and the type of an API's error; `undefined` when it has neither. */
export function codeOf (error: Json | undefined): UpstreamCode | undefined {
  if (!isJsonObject(error)) return undefined
  const isCode = (value: Json | undefined): value is string => typeof value === 'string' && value.length <= MAX_CODE && /^[\w.:-]+$/.test(value)
  const { code, type } = error
  const found = { ...(isCode(code) ? { code } : {}), ...(isCode(type) ? { type } : {}) }
  return Object.keys(found).length === 0 ? undefined : found
}

/** The most characters that are quoted of an error message of the API. */
const MAX_WORDS = 500

/** The statuses below 500 after which another attempt can succeed. */
const RETRIED_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])

/** Whether a status stands for a temporary failure. */
export function isRetryableStatus (status: number): boolean {
  return status >= 500 || RETRIED_STATUSES.has(status)
}

/** The error that a model API has refused the request itself. The caller should learn why: `status` and `body` are passed on. */
export class UpstreamRefusal extends Error {
  override readonly name = 'UpstreamRefusal'
  /** The HTTP status: a 4xx other than 401, 403, 408, 425 and 429. */
  readonly status: number
  /** The error body that the API has sent; if it has sent no JSON object, a body in the format of OpenAI's API. */
  readonly body: JsonObject

  constructor (status: number, body: JsonObject) {
    super(`The model's API refused the request with status ${status}`)
    this.status = status
    this.body = body
  }

  /** The message with the API's own words, for places where the body cannot be passed on. */
  get inWords (): string {
    const { error = null } = this.body
    const words = isJsonObject(error) ? error['message'] : error
    return typeof words === 'string' ? `${this.message}: ${words.slice(0, MAX_WORDS)}` : this.message
  }

  /** The API's own code for the error, such as `context_length_exceeded`. */
  get code (): string | undefined {
    const { error = null } = this.body
    const code = isJsonObject(error) ? error['code'] : undefined
    return typeof code === 'string' ? code : undefined
  }
}

/** An error body in the format of OpenAI's API. */
export function openAiError (message: string, type: string, code: string | null): JsonObject {
  return { error: { message, type, param: null, code } }
}

/** The error of a failed connection: it was refused, reset or cut, or timed out. @param error the error of undici or Node */
export function transportError (error: Error & { code?: unknown }): UpstreamError {
  if (error instanceof UpstreamError) return error
  const code = typeof error.code === 'string' ? error.code : error.name
  const retryable = !OUR_FAULT.has(code)
  return new UpstreamError(TRANSPORT_REASONS.get(code) ?? `the connection failed (${code})`, { retryable, cause: error })
}

/** The codes of errors after which another attempt would fail in the same way: a request that undici never sends, or a connection that we have closed. */
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
