import { EgressError } from './egress.ts'
import { createRedactor } from '../base/redact.ts'
import { ToolError } from './call/tool-error.ts'

/** The codes of the system's errors for a connection that was never made, so that nothing was sent over it. */
const NEVER_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT', 'ENOENT'])

/** The error of a connection that could not be made. It is put into words by its innermost cause, because libraries wrap the errors of the system. */
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
