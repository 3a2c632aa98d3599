import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'

/** A TCP server that answers whatever a test wants. */
export interface RawServer {
  readonly port: number
  /** Ends it and all its connections. */
  stop (): Promise<void>
}

/**
 * Starts a TCP server on a free port of 127.0.0.1.
 * @param onData called with what arrives, to write to the socket as it likes
 */
export async function startRawServer (onData: (socket: Socket, data: string) => void): Promise<RawServer> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    socket.on('data', data => onData(socket, data.toString()))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async stop () {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    }
  }
}
