import { t } from '../text/text.ts'

/** How a tool is, as the service tells of it. */
export interface ToolHealth {
  readonly preparation?: string
  readonly breaker?: { readonly state: string }
}

/**
 * Why no call of a tool gets through, as far as is known; undefined for one that can be called. One that rested is not known to be well
 * before a call has come through.
 */
export function downWords ({ preparation, breaker }: ToolHealth): string | undefined {
  if (preparation === 'failed') return t.notConnected
  if (breaker === undefined || breaker.state === 'closed') return undefined
  return breaker.state === 'open' ? t.breakerOpen : t.breakerHalfOpen
}
