import { pino } from 'pino'
import { ServiceError } from '../base/errors.ts'

/** How an error is logged. */
export interface LoggedError {
  readonly type: string
  readonly message?: string
  readonly code?: string
  readonly status?: number
  readonly stack?: string
  /** What a model's API has said. */
  readonly answer?: string
}

/**
 * An error that was to be expected without its stack, and without what it quotes: tools and models may repeat what they
 * were sent. One that was not keeps everything, since it is a fault of the service.
 * @param withValues whether quotes may be logged
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

/** An `UpstreamError` or a `ToolError`. */
function isQuoting (error: Error): error is Error & { readonly summary: string, readonly status?: unknown, readonly answer?: unknown } {
  return 'summary' in error && typeof error.summary === 'string'
}
