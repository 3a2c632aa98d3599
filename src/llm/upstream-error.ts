import { isJsonObject, type Json, type JsonObject, ownField } from '../base/json.ts'

/** One failed attempt at a model API. Retries read `retryable` and `retryAfter`, and need to know nothing of HTTP. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly retryable: boolean
  readonly status: number | undefined
  /** In ms. */
  readonly retryAfter: number | undefined
  /** Without the API's own words, for the log. */
  readonly summary: string
  readonly upstream: UpstreamCode | undefined
  /** Without secrets; logged only when `LOG_VALUES` is on. */
  readonly answer: string | undefined

  /** `summary` must have no addresses and credentials: callers read it. `quote` is the API's words, which can repeat the request. */
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

/** Clients tell a used-up quota from a rate limit by them. */
export interface UpstreamCode {
  readonly code?: string
  readonly type?: string
}

/** In characters. */
const MAX_CODE = 100

export function codeOf (error: Json | undefined): UpstreamCode | undefined {
  if (!isJsonObject(error)) return undefined
  const isCode = (value: Json | undefined): value is string => typeof value === 'string' && value.length <= MAX_CODE && /^[\w.:-]+$/.test(value)
  const { code, type } = error
  const found = { ...(isCode(code) ? { code } : {}), ...(isCode(type) ? { type } : {}) }
  return Object.keys(found).length === 0 ? undefined : found
}

/** In characters. */
const MAX_WORDS = 500

const RETRIED_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])

export function isRetryableStatus (status: number): boolean {
  return status >= 500 || RETRIED_STATUSES.has(status)
}

/** The API refused the request itself: the caller should learn why, so `status` and `body` are passed on. */
export class UpstreamRefusal extends Error {
  override readonly name = 'UpstreamRefusal'
  /** A 4xx other than 401, 403, 408, 425 and 429. */
  readonly status: number
  /** The API's error body, or one in OpenAI's format if it has sent no JSON object. */
  readonly body: JsonObject

  constructor (status: number, body: JsonObject) {
    super(`The model's API refused the request with status ${status}`)
    this.status = status
    this.body = body
  }

  get inWords (): string {
    const { error = null } = this.body
    const words = isJsonObject(error) ? error['message'] : error
    return typeof words === 'string' ? `${this.message}: ${words.slice(0, MAX_WORDS)}` : this.message
  }

  get code (): string | undefined {
    const { error = null } = this.body
    const code = ownField(error, 'code')
    return typeof code === 'string' ? code : undefined
  }
}

export function openAiError (message: string, type: string, code: string | null): JsonObject {
  return { error: { message, type, param: null, code } }
}

export function transportError (error: Error & { code?: unknown }): UpstreamError {
  if (error instanceof UpstreamError) return error
  const code = typeof error.code === 'string' ? error.code : error.name
  const retryable = !OUR_FAULT.has(code)
  return new UpstreamError(TRANSPORT_REASONS.get(code) ?? `the connection failed (${code})`, { retryable, cause: error })
}

/** Another attempt would fail in the same way: undici never sends the request, or we closed the connection. */
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
