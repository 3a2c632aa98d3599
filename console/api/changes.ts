import { useEffect } from 'react'
import { useMay } from './caller.ts'
import { queries } from './queries.ts'
import { readStream } from './stream.ts'

/** Pause before the stream is opened again, in ms. */
const PAUSE = 2000

/**
 * Has what is shown of the registry asked for again when it changes. One tab of this browser follows the service, and tells the others:
 * streams would use up the few connections that a browser has to a host.
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
