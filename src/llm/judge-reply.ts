import type { IncomingHttpHeaders } from 'node:http'
import { isJsonObject, isTooDeep, type Json, type JsonObject, MAX_JSON_DEPTH, ownField, parseJson } from '../base/json.ts'
import type { Redact } from '../base/redact.ts'
import { beginningOf } from '../base/text.ts'
import { errorIn, failedChoice, reportedError } from './answer.ts'
import type { ModelReply } from './model-client.ts'
import { codeOf, isRetryableStatus, openAiError, UpstreamError, UpstreamRefusal } from './upstream-error.ts'
import type { CollectedReply } from './exchange.ts'

/** In characters, of the API's text that the caller gets. */
const MAX_REFUSAL_TEXT = 2000

/** In characters. */
const MAX_LOGGED_ANSWER = 500

/** `redact` hides secrets in error bodies: some gateways print the request's headers into them. @throws UpstreamError, UpstreamRefusal */
export function judgeReply (reply: CollectedReply, member: string, redact: Redact): ModelReply {
  if (reply.status < 200 || reply.status > 299) throw statusError(reply, redact)
  const encoding = encodingOf(reply)
  if (encoding !== undefined) {
    throw new UpstreamError(`the reply is compressed (${encoding}), which was not asked for`, { retryable: false, status: reply.status })
  }
  const text = reply.body.toString('utf8')
  const value = parseObject(text, JSON.parse)
  if (value === undefined) throw badReply(reply, describeBody(reply.body), redact)
  if (!isAnswer(value, member)) throw errorInReply(reply, value, `the reply has no "${member}"`, redact)
  const failed = errorIn(value) ?? failedChoice(value)
  if (failed !== undefined) throw reportedError(failed, redact)
  // Chats go into the next turn, so their depth is checked. Embeddings are never sent again, and too large for another scan.
  if (member === 'choices' && isTooDeep(text)) throw badReply(reply, `the reply nests deeper than ${MAX_JSON_DEPTH}`, redact)
  return { body: reply.body, value }
}

function isAnswer (value: JsonObject, member: string): boolean {
  const list = ownField(value, member)
  return Array.isArray(list) && (member !== 'choices' || (list.length > 0 && list.every(isJsonObject)))
}

/** The error for a JSON object that is no answer: a failed attempt, which the API tells in its own words or not at all. */
function errorInReply ({ status, body }: CollectedReply, value: JsonObject, reason: string, redact: Redact): UpstreamError {
  const error = errorIn(value)
  if (error !== undefined) return reportedError(error, redact)
  return new UpstreamError(reason, { retryable: true, status, answer: beginningOfReply(body, redact) })
}

export function statusError (reply: CollectedReply, redact: Redact): UpstreamError | UpstreamRefusal {
  const { status, headers, body } = reply
  const retryable = isRetryableStatus(status)
  const isRefusal = status >= 400 && status <= 499 && status !== 401 && status !== 403
  if (isRefusal && !retryable) return new UpstreamRefusal(status, refusalBody(status, encodingOf(reply) === undefined ? redact(body.toString('utf8')) : ''))
  const retryAfter = retryable ? parseRetryAfter(headers, Date.now()) : undefined
  const upstream = codeOf(parseObject(body.toString('utf8'), JSON.parse)?.['error'])
  // A quota that is used up does not come back within a second.
  const isLasting = upstream?.code === 'insufficient_quota' || upstream?.type === 'insufficient_quota'
  const facts = { retryable: retryable && !isLasting, status, retryAfter, answer: beginningOfReply(body, redact), upstream }
  return new UpstreamError(`the upstream answered with status ${status}`, facts)
}

/** Retried only if the reply reports an error itself: with a wrong form another attempt would only cost another completion. */
export function badReply ({ status, body }: CollectedReply, reason: string, redact: Redact): UpstreamError {
  const error = errorIn(parseObject(body.toString('utf8'), JSON.parse) ?? {})
  if (error !== undefined) return reportedError(error, redact)
  return new UpstreamError(reason, { retryable: false, status, answer: beginningOfReply(body, redact) })
}

function encodingOf ({ headers }: CollectedReply): string | undefined {
  const encoding = headers['content-encoding'] ?? 'identity'
  return encoding.toLowerCase() === 'identity' ? undefined : encoding
}

/** Redacted before it is cut: even half a secret must not be shown. */
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

/** `parse`: `parseJson` keeps every digit of data written again; JSON.parse is much faster for data only read. */
function parseObject (text: string, parse: (text: string) => Json): JsonObject | undefined {
  try {
    const value = parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** In ms: `retry-after-ms` (Azure, OpenAI), else `Retry-After` in s or as a date (RFC 9110, 10.2.3). `now` is in ms since 1970. */
export function parseRetryAfter (headers: IncomingHttpHeaders, now: number): number | undefined {
  const milliseconds = decimal(headers['retry-after-ms'])
  if (milliseconds !== undefined) return Math.ceil(milliseconds)
  const seconds = decimal(headers['retry-after'])
  if (seconds !== undefined) return Math.ceil(seconds * 1000)
  const date = Date.parse(headers['retry-after'] ?? '')
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

function decimal (text: string | string[] | undefined): number | undefined {
  return typeof text === 'string' && /^\s*\d{1,12}(\.\d{1,6})?\s*$/.test(text) ? Number(text) : undefined
}
