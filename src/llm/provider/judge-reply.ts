import { isTooDeep, type Json, type JsonObject, MAX_JSON_DEPTH, parseJson } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'
import { type CollectedReply } from './collect-reply.ts'
import { type ModelReply } from '../model-client.ts'
import { type Redact } from '../../base/redact.ts'
import { reportedError } from './reported-error.ts'
import { parseRetryAfter } from './retry-after.ts'
import { isRetryableStatus, openAiError, UpstreamError, UpstreamRefusal } from '../upstream-error.ts'

/** The upstream's text is shown to the caller up to this length, in characters. */
const MAX_REFUSAL_TEXT = 2000

/** The log has this much of a reply that could not be used, in characters. */
const MAX_LOGGED_ANSWER = 500

/**
 * Gives a reply that is what was asked for: status 2xx and a JSON object with the member that marks its kind.
 * @param member `choices` for chat completions, `data` for embeddings
 * @param redact takes secrets out of an error body, which goes to the caller: some gateways print the request's headers into
 * it
 * @throws UpstreamError, UpstreamRefusal
 */
export function judgeReply (reply: CollectedReply, member: string, redact: Redact): ModelReply {
  if (reply.status < 200 || reply.status > 299) throw statusError(reply, redact)
  const encoding = encodingOf(reply)
  if (encoding !== undefined) {
    throw new UpstreamError(`the reply is compressed (${encoding}), which was not asked for`, { retryable: false, status: reply.status })
  }
  const text = reply.body.toString('utf8')
  const value = parseObject(text, JSON.parse)
  if (value === undefined) throw badReply(reply, describeBody(reply.body), redact)
  if (!Object.hasOwn(value, member)) throw badReply(reply, `the reply has no "${member}"`, redact)
  // The content of a chat goes into its next turn, so it is checked. Embeddings go into nothing, and they are too many to be
  // looked at again.
  if (member === 'choices' && isTooDeep(text)) throw badReply(reply, `the reply nests deeper than ${MAX_JSON_DEPTH}`, redact)
  return { body: reply.body, value }
}

/** What a reply with a status other than 2xx means. */
export function statusError (reply: CollectedReply, redact: Redact): UpstreamError | UpstreamRefusal {
  const { status, headers, body } = reply
  const retryable = isRetryableStatus(status)
  const isRefusal = status >= 400 && status <= 499 && status !== 401 && status !== 403
  if (isRefusal && !retryable) return new UpstreamRefusal(status, refusalBody(status, encodingOf(reply) === undefined ? redact(body.toString('utf8')) : ''))
  const retryAfter = retryable ? parseRetryAfter(headers, Date.now()) : undefined
  return new UpstreamError(`the upstream answered with status ${status}`, { retryable, status, retryAfter, answer: beginningOfReply(body, redact) })
}

/**
 * What a reply means that has status 2xx and is not what was asked for: an error that the reply reports, or garbage. The
 * attempt is not repeated: another one would only cost another completion.
 */
export function badReply ({ status, body }: CollectedReply, reason: string, redact: Redact): UpstreamError {
  const { error = null } = parseObject(body.toString('utf8'), JSON.parse) ?? {}
  if (error !== null) return reportedError(error, redact)
  return new UpstreamError(reason, { retryable: false, status, answer: beginningOfReply(body, redact) })
}

/** How a reply is compressed, by an upstream that was not asked to. */
function encodingOf ({ headers }: CollectedReply): string | undefined {
  const encoding = headers['content-encoding'] ?? 'identity'
  return encoding.toLowerCase() === 'identity' ? undefined : encoding
}

/** Secrets are taken out before it is cut: half of one is too much. */
function beginningOfReply (body: Buffer, redact: Redact): string {
  return beginningOf(redact(body.toString('utf8')), MAX_LOGGED_ANSWER)
}

function refusalBody (status: number, text: string): JsonObject {
  return parseObject(text, parseJson) ?? openAiError(text === '' ? `status ${status}` : text.slice(0, MAX_REFUSAL_TEXT), 'invalid_request_error', null)
}

function describeBody (body: Buffer): string {
  const start = body.subarray(0, 100).toString('utf8').trimStart()
  if (start === '') return 'the reply is empty'
  return start.startsWith('<') ? 'the reply is HTML or XML, not JSON' : 'the reply is not a JSON object'
}

/**
 * @param parse `parseJson` for data that is written again, with every digit; plain JSON.parse, which is much faster, for data
 * that is only read
 */
function parseObject (text: string, parse: (text: string) => Json): JsonObject | undefined {
  try {
    const value = parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value as JsonObject : undefined
  } catch {
    return undefined
  }
}
