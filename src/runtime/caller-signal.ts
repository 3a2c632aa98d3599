/**
 * Whether the caller still waits for an answer. Every AbortSignal is one; HTTP makes a lighter one for each request, since
 * an AbortSignal with one listener costs 5 µs, and nearly all callers stay.
 */
export interface CallerSignal {
  readonly aborted: boolean
  readonly reason: unknown
  throwIfAborted (): void
  addEventListener (type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void
  removeEventListener (type: 'abort', listener: () => void): void
}

/** The same as an AbortSignal, for whoever takes nothing else. */
export function toAbortSignal (signal: CallerSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal
  if (signal.aborted) return AbortSignal.abort(signal.reason)
  const controller = new AbortController()
  signal.addEventListener('abort', () => { controller.abort(signal.reason) }, { once: true })
  return controller.signal
}
