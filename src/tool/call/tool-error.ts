/** The codes of the reasons why the call of a tool failed. */
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
  /** The tool itself reports that it has failed. */
  | 'TOOL_ERROR'

/** The codes of failures after which nobody knows whether the tool has done what it was asked for. After all other failures it has not. */
const IN_DOUBT: ReadonlySet<ToolErrorCode> = new Set<ToolErrorCode>(['TIMEOUT', 'UNREACHABLE', 'REPLY_INVALID', 'REPLY_TOO_LARGE', 'RETURNS_INVALID'])

/** The error of a failed call. Its message has no secret, and no argument except in quoted words of the tool. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
  readonly code: ToolErrorCode
  /** Whether the same call may succeed a moment later. Such failures are retried, and count for the breaker. */
  readonly transient: boolean
  /** The message without the tool's own words; the log shows it. */
  readonly summary: string
  /** Whether the tool may have done what it was asked for in spite of the failure. */
  readonly isInDoubt: boolean

  /** @param facts further facts: `quote` has the tool's own words, which may repeat the arguments; `wasSent: false` means that the call was never sent */
  constructor (
    code: ToolErrorCode,
    summary: string,
    { transient = false, cause, quote, wasSent = true }: { transient?: boolean, cause?: unknown, quote?: string, wasSent?: boolean } = {}
  ) {
    super(quote === undefined ? summary : `${summary}: ${quote}`, cause === undefined ? undefined : { cause })
    this.summary = summary
    this.code = code
    this.transient = transient
    this.isInDoubt = wasSent && IN_DOUBT.has(code)
  }
}

/** The HTTP statuses below 500 that mean "try again later". */
const TRANSIENT_STATUSES = new Set([408, 425, 429])

/** The failure that an HTTP status stands for. */
export function statusError (status: number, summary = `answered with status ${status}`): ToolError {
  return new ToolError('STATUS', summary, { transient: status >= 500 || TRANSIENT_STATUSES.has(status) })
}
