import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

/** A TCP port that was free a moment ago, chosen by the kernel. Another process may take it first: try again then. */
export async function freePort (): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
