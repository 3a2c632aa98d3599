import { isJsonObject, type Json } from '../../base/json.ts'
import { type Redact } from '../../base/redact.ts'
import { codeOf, isRetryableStatus, UpstreamError } from '../upstream-error.ts'

/** The greatest length of the API's own words in an error, in characters. */
const MAX_MESSAGE = 500

/** Finds errors, by their code or type, that another attempt would meet again. */
const LASTING = /quota|invalid|not_found|unsupported|auth|permission|content_|context_/i

/**
 * Makes the error for a reply in which an API reports an error with status 200. Some APIs fail after they have begun to answer; others always report
 * errors in this way. Without a number or a known word, another attempt is made: most such errors pass.
 * @param error the member `error` of the reply
 */
export function reportedError (error: Json, redact: Redact): UpstreamError {
  const { message, code, status } = isJsonObject(error) ? error : { message: error, code: undefined, status: undefined }
  const number = Number(status ?? code)
  const upstream = codeOf(error)
  const quote = typeof message === 'string' ? { quote: redact(message).slice(0, MAX_MESSAGE) } : {}
  return new UpstreamError('the upstream reported an error', {
    ...quote,
    retryable: number > 0 ? isRetryableStatus(number) : !LASTING.test(`${upstream?.code ?? ''} ${upstream?.type ?? ''}`),
    ...(number > 0 && Number.isInteger(number) ? { status: number } : {}),
    upstream
  })
}
