import websocket from '@fastify/websocket'
import { type WebSocket } from 'ws'
import { type App } from '../base/app-types.ts'
import { routeOtherUpgrades } from './other-upgrades.ts'
import { PROTOCOL } from '../base/protocol.ts'

/** The largest frame, in bytes. */
const MAX_FRAME = 256 * 1024

/** How long a client may take to say goodbye when the service goes away, in ms. */
const GOODBYE = 1000

/**
 * Lets routes be WebSockets. It must be registered before all hooks that may refuse a request. When a hook answers an upgrade,
 * Node no longer owns the connection, and this plugin closes it.
 */
export async function acceptSockets (app: App): Promise<void> {
  await app.register(websocket, {
    options: { server: routeOtherUpgrades(app.server), maxPayload: MAX_FRAME, handleProtocols: offered => offered.has(PROTOCOL) ? PROTOCOL : false },
    errorHandler (error, socket, request) {
      // A frame was too large or invalid, or the client is gone. The library `ws` closes with the right code.
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
