import { t } from '../text/text.ts'

/** The state of a tool, as the service reports it. The circuit breaker stops the calls of a tool that fails often. */
export interface ToolHealth {
  readonly preparation?: string
  readonly breaker?: { readonly state: string }
}

/**
 * The reason why a tool cannot be called, in words; `undefined` for a tool that can be called. A tool whose circuit breaker is half open
 * counts as unusable until a call has succeeded.
 */
export function downWords ({ preparation, breaker }: ToolHealth): string | undefined {
  if (preparation === 'failed') return t.notConnected
  if (breaker === undefined || breaker.state === 'closed') return undefined
  return breaker.state === 'open' ? t.breakerOpen : t.breakerHalfOpen
}
