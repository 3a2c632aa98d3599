import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import websocket from '@fastify/websocket'
import type { WebSocket } from 'ws'
import type { App } from '../app.ts'

/** The largest WebSocket frame that a client may send, in bytes. */
const MAX_FRAME = 256 * 1024

/** How long a client may take to close its socket when the service stops, in ms. */
const GOODBYE = 1000

/**
 * Lets routes be WebSockets. This must be called before all hooks that may refuse a request are added. When such a hook answers a request for
 * an upgrade, the plugin closes the connection, which Node itself leaves open.
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

/**
 * Separates requests for a WebSocket from requests for other upgrades. The emitter that is returned gets only the requests for a WebSocket.
 * Any other request is served as if it had asked for no upgrade, which HTTP allows (RFC 9110, 7.8): Java's client asks every server to
 * upgrade to h2c, also with a POST. Without this function Node would not read the body of such a request, since something listens to
 * upgrades.
 */
function routeOtherUpgrades (server: Server): Server {
  const websockets = new EventEmitter()
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    if (request.headers.upgrade?.toLowerCase() === 'websocket') websockets.emit('upgrade', request, socket, head)
    else serveAgain(server, request, socket, head)
  })
  return websockets as Server
}

/** Makes the server read a request a second time: the head is written again without the header `upgrade`, and put back in front of the body. */
function serveAgain (server: Server, { method = '', url = '', httpVersion, rawHeaders }: IncomingMessage, socket: Socket, head: Buffer): void {
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]]
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${name.toLowerCase() === 'connection' ? value.replace(/\bupgrade\b,?\s*/i, '') : value}`)
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  server.emit('connection', socket)
}

/**
 * The WebSocket subprotocol of this service. A client that offers any subprotocol, such as one with its token, must offer this one, too.
 */
const PROTOCOL = 'ai-prompt-shell.v1'

/** The only path at which a WebSocket can be opened. */
export const SOCKET_PATH = '/ws'

/**
 * The token that a client offers as a subprotocol `bearer.…`; `undefined` if it offers none. A page in a browser can set no other header of
 * a WebSocket request.
 */
export function subprotocolToken (headers: IncomingHttpHeaders): string | undefined {
  const offered = headers['sec-websocket-protocol']?.split(',').map(each => each.trim()) ?? []
  return offered.find(each => each.startsWith('bearer.'))?.slice('bearer.'.length)
}
