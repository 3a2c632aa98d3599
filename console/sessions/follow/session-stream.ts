import { type StreamEvent } from '../../api/stream.ts'
import { readStream } from '../../api/stream.ts'
import { type Follower, type LiveEvent } from './session-socket.ts'

/** The pause before the stream is opened again, in ms. */
const PAUSE = 2000

/** A number larger than that of any event in a step: the place `4.999999999` is after all events of step 4. */
const LAST = 999_999_999

/**
 * Follows a session by an event stream, if no socket can be opened. The stream needs one of the few connections that a browser opens to one
 * host, so a page follows only one session at a time.
 * @param after number of the step before the first one that is wanted
 * @returns a function that ends this
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
