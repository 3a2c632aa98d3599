import { useEffect } from 'react'
import { useMay } from './caller.ts'
import { queries } from './queries.ts'
import { readStream } from './stream.ts'

/** The pause before the stream of events is opened again, in ms. */
const PAUSE = 2000

/**
 * Requests all shown data of the registry again whenever the registry has changed. Only one tab of the browser reads the service's stream
 * of events, and tells the other tabs: a stream for each tab would use up the few connections that a browser opens to one host.
 */
export function useChanges (): void {
  const mayRead = useMay('read')
  useEffect(() => {
    if (!mayRead) return
    const controller = new AbortController()
    const channel = new BroadcastChannel('prompt-shell.changes')
    channel.addEventListener('message', refresh)
    const follow = async () => {
      while (!controller.signal.aborted) {
        await readStream(new Request('/api/events', { signal: controller.signal }), ({ event }) => {
          if (event !== 'changed') return
          refresh()
          channel.postMessage('changed')
        }).catch(() => {})
        await new Promise(resolve => { setTimeout(resolve, PAUSE) })
      }
    }
    navigator.locks.request('prompt-shell.changes', { signal: controller.signal }, follow).catch(() => {})
    return () => {
      controller.abort()
      channel.close()
    }
  }, [mayRead])
}

function refresh (): void {
  void queries.invalidateQueries({ queryKey: ['registry'] })
}
