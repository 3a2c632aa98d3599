import { connect, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { type Service } from './service.ts'
import { waitFor } from './wait-for.ts'

/**
 * Sends a request whose head is complete only when the service no longer listens.
 * @param headers as they are sent, each with its line end
 * @returns what came back, once the service has closed
 */
export async function sendLateRequest (t: TestContext, { app, listen }: Pick<Service, 'app' | 'listen'>, path: string, headers: string): Promise<string> {
  const socket = connect(Number(new URL(await listen()).port), '127.0.0.1')
  t.after(() => socket.destroy())
  const reply = text(socket)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n`)
  await waitFor('the connection', async () => await connectionsOf(app.server) === 1)
  const closed = app.close()
  await waitFor('the port to close', () => !app.server.listening)
  socket.write(`${headers}\r\n`)
  await closed
  return await reply
}

async function connectionsOf (server: Server): Promise<number> {
  return await promisify(server.getConnections.bind(server))()
}
