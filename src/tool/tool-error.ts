import { createRedactor } from '../base/redact.ts'
import { beginningOf } from '../base/text.ts'
import { EgressError } from './egress.ts'

export type ToolErrorCode =
  | 'ARGUMENTS_INVALID'
  | 'RETURNS_INVALID'
  | 'TIMEOUT'
  | 'ABORTED'
  | 'BUSY'
  | 'BREAKER_OPEN'
  | 'EGRESS_REFUSED'
  | 'SECRET_REFUSED'
  | 'BASE_URL_MISSING'
  | 'UNREACHABLE'
  | 'STATUS'
  | 'REPLY_INVALID'
  | 'REPLY_TOO_LARGE'
  | 'UNKNOWN_METHOD'
  | 'TOOL_ERROR'

/** After these nobody knows whether the tool has done its work. After any other the service assumes that it has not. */
const IN_DOUBT: ReadonlySet<ToolErrorCode> = new Set<ToolErrorCode>(['TIMEOUT', 'UNREACHABLE', 'REPLY_INVALID', 'REPLY_TOO_LARGE', 'RETURNS_INVALID'])

/** Its message has no secret, and no argument except in a quotation of the tool's own words. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
  readonly code: ToolErrorCode
  readonly transient: boolean
  /** Without the quotation of the tool's own words, for logs. */
  readonly summary: string
  readonly isInDoubt: boolean

  /** `quote` can repeat the arguments; `wasSent: false` means that the tool cannot have received the call. */
  constructor (
    code: ToolErrorCode,
    summary: string,
    { transient = false, cause, quote, wasSent = true }: { transient?: boolean, cause?: unknown, quote?: string | undefined, wasSent?: boolean } = {}
  ) {
    super(quote === undefined || quote === '' ? summary : `${summary}: ${quote}`, cause === undefined ? undefined : { cause })
    this.summary = summary
    this.code = code
    this.transient = transient
    this.isInDoubt = wasSent && IN_DOUBT.has(code)
  }
}

const TRANSIENT_STATUSES = new Set([408, 425, 429])

/** In UTF-16 units. */
const MAX_QUOTE = 4000

/** A tool's own words without secrets, for the model and the caller. A page of HTML says nothing to them. */
export function quoteOf (words: string, secrets: readonly string[]): string {
  const text = createRedactor(secrets)(words.trim())
  if (text.startsWith('<')) return ''
  return text.length <= MAX_QUOTE ? text : `${beginningOf(text, MAX_QUOTE).toWellFormed()}… (${text.length - MAX_QUOTE} characters more)`
}

export function statusError (status: number, summary = `answered with status ${status}`, quote?: string): ToolError {
  return new ToolError('STATUS', summary, { quote, transient: status >= 500 || TRANSIENT_STATUSES.has(status) })
}

/** Codes of a connection that was never made, so that the tool cannot have received the call. */
const NEVER_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT', 'ENOENT'])

/** Libraries wrap the system's error, so the innermost cause is reported. */
export function unreachable (error: unknown, secrets: readonly string[] = []): ToolError {
  const cause = innermost(error)
  if (cause instanceof ToolError) return cause
  if (cause instanceof EgressError) return new ToolError('EGRESS_REFUSED', cause.message)
  const { code, message } = cause as Error & { code?: unknown }
  if (typeof code === 'string') return new ToolError('UNREACHABLE', `could not be reached: ${code}`, { transient: true, wasSent: !NEVER_CONNECTED.has(code) })
  return new ToolError('UNREACHABLE', 'could not be reached', { transient: true, quote: createRedactor(secrets)(message).slice(0, 200) })
}

function innermost (error: unknown): unknown {
  let cause = error
  for (let depth = 0; depth < 10 && cause instanceof Error && cause.cause instanceof Error; depth++) cause = cause.cause
  return cause
}
