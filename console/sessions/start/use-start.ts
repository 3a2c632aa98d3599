import { useRef, useState } from 'react'
import { useLocation } from 'wouter'

/** Starts a session, and opens its page. If the user presses the button several times, only one session is started. */
export function useStart () {
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const key = useRef(crypto.randomUUID())
  const [, go] = useLocation()
  const start = async (call: (key: string) => Promise<string>) => {
    setBusy(true)
    setError(undefined)
    try {
      go(`/sessions/${await call(key.current)}`)
    } catch (failure) {
      key.current = crypto.randomUUID()
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return { start, error, isBusy }
}
