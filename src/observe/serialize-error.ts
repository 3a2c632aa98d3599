import { pino } from 'pino'
import { ServiceError } from '../base/errors.ts'

/** An error as the log shows it. */
export interface LoggedError {
  readonly type: string
  readonly message?: string
  readonly code?: string
  readonly status?: number
  readonly stack?: string
  /** The beginning of what a model's API has answered, when the service could not use the answer. */
  readonly answer?: string
}

/**
 * Turns an error into what the log shows of it. An expected error is shown without its stack and, unless `withValues` is set, without the
 * words that it quotes, because tools and models may repeat secrets that they were sent. An unexpected error is a fault of the service, and
 * is shown completely.
 * @param withValues whether quoted words may be logged
 */
export function serializeError (error: Error, withValues: boolean): LoggedError {
  if (error instanceof ServiceError) return { type: error.name, code: error.code, status: error.statusCode, ...(withValues ? { message: error.message } : {}) }
  if (isQuoting(error)) {
    const { name, summary, message, status, answer } = error
    return {
      type: name,
      message: withValues ? message : summary,
      ...(typeof status === 'number' ? { status } : {}),
      ...(withValues && typeof answer === 'string' ? { answer } : {})
    }
  }
  return pino.stdSerializers.err(error)
}

/** Whether an error may quote the words of a model or tool: an `UpstreamError` or a `ToolError`. */
function isQuoting (error: Error): error is Error & { readonly summary: string, readonly status?: unknown, readonly answer?: unknown } {
  return 'summary' in error && typeof error.summary === 'string'
}
