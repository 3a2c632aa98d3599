import { once } from 'node:events'
import { type TestContext } from 'node:test'
import { WebSocket } from 'ws'
import { type JsonView } from './service.ts'
import { waitFor } from './wait-for.ts'

/** A WebSocket client that keeps what it was sent. */
export interface SocketClient {
  readonly socket: WebSocket
  readonly frames: readonly JsonView[]
  send (frame: unknown): void
  /** The first frame of a type that comes, or has come and was not asked for yet. */
  next (type: string): Promise<JsonView>
}

export interface SocketWishes {
  readonly headers?: Readonly<Record<string, string>>
  readonly protocols?: string[]
  /** @default '/ws' */
  readonly path?: string
}

/** Connects to the service. @param origin as `listen` gives it @throws Error with the status of a refusal */
export async function connectSocket (t: TestContext, origin: string, { headers = {}, protocols = [], path = '/ws' }: SocketWishes = {}): Promise<SocketClient> {
  const socket = new WebSocket(`${origin.replace('http', 'ws')}${path}`, protocols, { headers })
  t.after(() => { socket.terminate() })
  const frames: JsonView[] = []
  const taken = new Set<JsonView>()
  socket.on('message', (data: Buffer) => { frames.push(JSON.parse(data.toString()) as JsonView) })
  await once(socket, 'open')
  return {
    socket,
    frames,
    send (frame) { socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame)) },
    async next (type) {
      const found = await waitFor(`a frame "${type}" among ${JSON.stringify(frames.map(frame => frame['type']))}`, () => frames.find(frame => !taken.has(frame) && String(frame['type']) === type))
      taken.add(found)
      return found
    }
  }
}
