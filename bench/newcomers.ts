import { once } from 'node:events'
import { connect } from 'node:net'

export interface Newcomers {
  readonly origin: string
  readonly path: string
  readonly body: string
  readonly connections: number
}

/** Opens connections all at once, sends one request over each, and gives how long each took from opening to its answer, in ms. */
export async function openAtOnce ({ origin, path, body, connections }: Newcomers): Promise<readonly number[]> {
  const { hostname, port, host } = new URL(origin)
  const request = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  return await Promise.all(Array.from({ length: connections }, async () => {
    const begin = performance.now()
    const socket = connect(Number(port), hostname).setNoDelay()
    socket.write(request)
    const [head] = await once(socket, 'data') as [Buffer]
    if (!head.toString('latin1', 0, 20).includes(' 200 ')) throw new Error(`a new connection was answered: ${head.toString('latin1', 0, 100)}`)
    const took = performance.now() - begin
    socket.destroy()
    return took
  }))
}
