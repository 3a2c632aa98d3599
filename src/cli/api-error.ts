import { targetNotFound } from '../base/errors.ts'
import { isJsonObject, type JsonObject, parseJson } from '../base/json.ts'
import { CliError, EXIT } from './exit-codes.ts'
import { listOf, objectOf, textOf } from './json-members.ts'

/** The error codes which say that the command's input is wrong. After most other errors with a status of 4xx, `aps` ends with the exit code `NO`. */
const USAGE_CODES: ReadonlySet<string> = new Set(['REQUEST_INVALID', 'ARGUMENTS_INVALID', 'VARIABLE_MISSING', 'VARIABLES_INVALID'])

/** The statuses below 500 after which the same request may succeed later: a timeout, and too many requests. */
const LATER: ReadonlySet<number> = new Set([408, 429])

/** The error of a reply whose status is not 2xx. */
export class ApiError extends CliError {
  readonly status: number
  /** The code of the error, as in docs/errors.md; `''` for none. */
  readonly code: string
  readonly details: JsonObject

  constructor (exitCode: number, message: string, { status, code, details }: Pick<ApiError, 'status' | 'code' | 'details'>) {
    super(exitCode, message)
    this.status = status
    this.code = code
    this.details = details
  }
}

/**
 * Makes an error of a reply whose status is not 2xx: one line with the message, the code and the request id of the reply.
 * @param body in any of the three forms of the service's errors (the usual one, the one of the routes for skills, and OpenAI's), or
 * anything else
 */
export function apiError (status: number, body: string, requestId: string | undefined): ApiError {
  const { message, code, details } = wordsOf(body)
  const facts = [code, requestId === undefined ? '' : `request ${requestId}`].filter(fact => fact !== '')
  // The routes of skills give errors without codes: 400 for wrong input, 404 for what does not exist.
  const exitCode = status === 400 && code === '' && message !== '' ? EXIT.USAGE : exitCodeOf(status, code)
  const words = message === '' ? `the service answered with status ${status}` : withNames(message, code, details)
  return new ApiError(exitCode, `${words}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`, { status, code, details })
}

/** The exit code with which `aps` ends after an error of the service. */
export function exitCodeOf (status: number, code: string): number {
  if (status === 401 || status === 403) return EXIT.TOKEN
  if (status < 400 || status >= 500 || LATER.has(status)) return EXIT.UNREACHABLE
  return USAGE_CODES.has(code) ? EXIT.USAGE : EXIT.NO
}

/** The message with the names that were perhaps meant: the routes of skills have them in the details only. */
function withNames (message: string, code: string, details: JsonObject): string {
  const [near, offered] = [listOf(details['near']).map(textOf), listOf(details['offered']).map(textOf)]
  if (code === targetNotFound.code && textOf(details['name']) !== '') return targetNotFound(textOf(details['name']), near, offered).message
  const names = near.map(name => `"${name}"`)
  return names.length === 0 || names.some(name => message.includes(name)) ? message : `${message}; near matches: ${names.join(', ')}`
}

function wordsOf (body: string): { readonly message: string, readonly code: string, readonly details: JsonObject } {
  const value = objectIn(body)
  const { message = value['error'], code } = isJsonObject(value['error']) ? value['error'] : value
  return { message: textOf(message), code: textOf(code), details: objectOf(value['details']) }
}

function objectIn (body: string): JsonObject {
  try {
    return objectOf(parseJson(body))
  } catch {
    return {}
  }
}
