import { useRef, useState } from 'react'
import { ApiError } from './api-error.ts'

/** How long a reply is waited for until it counts as lost, in ms. What is sent so is answered at once: what becomes of it, events tell. */
export const PATIENCE = 6000

/** What goes with a request that counts once, however often it is sent. */
export interface Once {
  readonly header: never
  readonly signal: AbortSignal
}

/**
 * Sends what a person has pressed a button for. Pressed again unchanged after the reply was lost, it is sent with the same idempotency key, so
 * that the service counts it once.
 */
export function useSending () {
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const doubted = useRef<{ readonly what: string, readonly key: string }>(undefined)
  /** @param what tells whether the same is sent again @returns whether the service has taken it */
  const send = async (what: string, call: (once: Once) => Promise<unknown>): Promise<boolean> => {
    const key = doubted.current?.what === what ? doubted.current.key : crypto.randomUUID()
    setBusy(true)
    setError(undefined)
    try {
      await call({ header: { 'idempotency-key': key, prefer: 'respond-async' } as never, signal: AbortSignal.timeout(PATIENCE) })
      doubted.current = undefined
      return true
    } catch (failure) {
      doubted.current = failure instanceof ApiError ? undefined : { what, key }
      setError(failure)
      return false
    } finally {
      setBusy(false)
    }
  }
  return { error, isBusy, send }
}
