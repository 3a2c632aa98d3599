import { type StreamEvent } from '../../api/stream.ts'
import { readStream } from '../../api/stream.ts'
import { type Follower, type LiveEvent } from './session-socket.ts'

/** Pause before the stream is opened again, in ms. */
const PAUSE = 2000

/** No step has so many events: what stands behind a step stands behind this one of it. */
const LAST = 999_999_999

/**
 * Follows a session as an event stream, where no socket comes through; gives what ends it. It holds one of the few connections that a
 * browser has to a host: a page follows one session at a time.
 * @param after number of the step before the first that is wanted
 */
export function streamSession (id: string, after: number, { onEvent, onLive, onConnection }: Follower): () => void {
  const controller = new AbortController()
  let [isOver, place] = [false, after === 0 ? '' : `${after}.${LAST}`]
  const take = ({ id: at, event = '', data }: StreamEvent) => {
    onConnection(true)
    const known = JSON.parse(data) as Readonly<Record<string, unknown>>
    if (event === 'live') { onLive(known as LiveEvent); return }
    const [seq, n] = (at ?? '').split('.').map(Number)
    if (seq === undefined || n === undefined) return
    place = `${seq}.${n}`
    isOver ||= event === 'done'
    onEvent({ seq, n, event, data: known })
  }
  const follow = async () => {
    for (;;) {
      const address = `/api/sessions/${id}/events${place === '' ? '' : `?after=${place}`}`
      await readStream(new Request(address, { signal: controller.signal }), take).catch(() => {})
      if (isOver || controller.signal.aborted) return
      onConnection(false)
      await new Promise(resolve => { setTimeout(resolve, PAUSE) })
    }
  }
  onConnection(true)
  void follow()
  return () => { controller.abort() }
}
