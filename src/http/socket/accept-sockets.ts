import websocket from '@fastify/websocket'
import { type WebSocket } from 'ws'
import { type App } from '../app-types.ts'
import { routeOtherUpgrades } from './other-upgrades.ts'
import { PROTOCOL } from './protocol.ts'

/** The largest frame, in bytes. */
const MAX_FRAME = 256 * 1024

/** How long a client may take to say goodbye when the service goes away, in ms. */
const GOODBYE = 1000

/**
 * Lets routes be WebSockets. Comes before all hooks that may refuse a request: it closes the connection of an upgrade that was
 * answered, which Node has given up by then.
 */
export async function acceptSockets (app: App): Promise<void> {
  await app.register(websocket, {
    options: { server: routeOtherUpgrades(app.server), maxPayload: MAX_FRAME, handleProtocols: offered => offered.has(PROTOCOL) ? PROTOCOL : false },
    errorHandler (error, socket, request) {
      // A frame that is too large or none, or a client that is gone: ws closes with the code that says so.
      request.log.debug({ err: error }, 'a socket was closed')
      socket.close()
    },
    preClose (done) {
      for (const client of app.websocketServer.clients) leave(client)
      done()
    }
  })
}

/** The server waits for every connection when it closes. */
function leave (client: WebSocket): void {
  client.close(1001, 'the service is going away')
  setTimeout(() => { client.terminate() }, GOODBYE).unref()
}
