/** Why a call failed, for programs. */
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
  /** The tool itself says that it has failed. */
  | 'TOOL_ERROR'

/** Failures after which nobody knows whether the tool has done what it was asked for. After all other failures it has not. */
const IN_DOUBT: ReadonlySet<ToolErrorCode> = new Set<ToolErrorCode>(['TIMEOUT', 'UNREACHABLE', 'REPLY_INVALID', 'REPLY_TOO_LARGE', 'RETURNS_INVALID'])

/** A call that failed. Its message names no secret and, but for what it quotes, no argument. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
  readonly code: ToolErrorCode
  /** Whether the same call may work a moment later: such failures are retried, and open the breaker. */
  readonly transient: boolean
  /** The message without what it quotes: logs hold this. */
  readonly summary: string
  /** Whether the tool may have done what it was asked for none the less. */
  readonly isInDoubt: boolean

  /** @param facts with `quote` for the tool's own words, which may repeat the arguments; `wasSent: false` where the tool has not heard of the call */
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

/** Statuses that say "later", as those of the model's API do. */
const TRANSIENT_STATUSES = new Set([408, 425, 429])

/** The failure that an HTTP status tells of. */
export function statusError (status: number, summary = `answered with status ${status}`): ToolError {
  return new ToolError('STATUS', summary, { transient: status >= 500 || TRANSIENT_STATUSES.has(status) })
}
