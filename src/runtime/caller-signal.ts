/** A signal that tells whether the caller still waits for an answer. Every AbortSignal and every `LightSignal` is one. */
export interface CallerSignal {
  readonly aborted: boolean
  readonly reason: unknown
  throwIfAborted (): void
  addEventListener (type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void
  removeEventListener (type: 'abort', listener: () => void): void
}

/** Turns a caller's signal into an AbortSignal, for code that accepts nothing else. */
export function toAbortSignal (signal: CallerSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal
  if (signal.aborted) return AbortSignal.abort(signal.reason)
  const controller = new AbortController()
  signal.addEventListener('abort', () => { controller.abort(signal.reason) }, { once: true })
  return controller.signal
}

/**
 * A controller and its signal in one object. Every request needs such a signal, although it hardly ever aborts. To make an AbortController with a
 * listener instead would take many times as long.
 */
export class LightSignal implements CallerSignal {
  #aborted = false
  #reason: unknown
  #listeners: Set<() => void> | undefined

  get aborted (): boolean {
    return this.#aborted
  }

  get reason (): unknown {
    return this.#reason
  }

  throwIfAborted (): void {
    if (this.#aborted) throw this.#reason
  }

  addEventListener (_type: 'abort', listener: () => void): void {
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
  }

  removeEventListener (_type: 'abort', listener: () => void): void {
    this.#listeners?.delete(listener)
  }

  /** Calls every listener. Further calls do nothing. */
  abort (reason: unknown): void {
    if (this.#aborted) return
    this.#aborted = true
    this.#reason = reason
    const listeners = this.#listeners ?? []
    this.#listeners = undefined
    for (const listener of listeners) listener()
  }
}
