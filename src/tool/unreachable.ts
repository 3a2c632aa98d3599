import { EgressError } from './egress.ts'
import { createRedactor } from '../base/redact.ts'
import { ToolError } from './call/tool-error.ts'

/** The system's error codes for a connection that was never made, so that the tool cannot have received the call. */
const NEVER_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT', 'ENOENT'])

/**
 * Makes the error for a tool that could not be reached. Libraries wrap the system's error, so the innermost cause is reported.
 * @param secrets removed from the message
 */
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
