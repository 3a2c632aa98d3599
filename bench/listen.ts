import { type Server } from 'node:http'
import { type AddressInfo } from 'node:net'

/** Listens on a free port, says where, as the service does, and ends with the process that started this one. */
export function listen (server: Server): void {
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1', () => {
    console.log(`Server listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  })
  process.on('disconnect', () => process.exit())
}
