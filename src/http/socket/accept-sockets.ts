import websocket from '@fastify/websocket'
import { type WebSocket } from 'ws'
import { type App } from '../base/app-types.ts'
import { routeOtherUpgrades } from './other-upgrades.ts'
import { PROTOCOL } from '../base/protocol.ts'

/** The largest WebSocket frame that a client may send, in bytes. */
const MAX_FRAME = 256 * 1024

/** How long a client may take to close its socket when the service stops, in ms. */
const GOODBYE = 1000

/**
 * Lets routes be WebSockets. The plugin must be registered before all hooks that may refuse a request: if a hook answers a request for an
 * upgrade, Node no longer owns the connection, and this plugin closes it.
 */
export async function acceptSockets (app: App): Promise<void> {
  await app.register(websocket, {
    options: { server: routeOtherUpgrades(app.server), maxPayload: MAX_FRAME, handleProtocols: offered => offered.has(PROTOCOL) ? PROTOCOL : false },
    errorHandler (error, socket, request) {
      // The frame was too large or invalid, or the client has gone. The library `ws` closes the socket with the right code.
      request.log.debug({ err: error }, 'a socket was closed')
      socket.close()
    },
    preClose (done) {
      for (const client of app.websocketServer.clients) leave(client)
      done()
    }
  })
}

/** Closes the socket of a client, also when the client does not answer: a server that closes waits for every connection. */
function leave (client: WebSocket): void {
  client.close(1001, 'the service is going away')
  setTimeout(() => { client.terminate() }, GOODBYE).unref()
}
