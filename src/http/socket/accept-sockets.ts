import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import websocket from '@fastify/websocket'
import type { WebSocket } from 'ws'
import type { App } from '../app.ts'

/** In bytes. */
const MAX_FRAME = 256 * 1024

/** In ms. */
const GOODBYE = 1000

/** Before all hooks that may refuse: only then the plugin closes a refused upgrade's connection, which Node leaves open. */
export async function acceptSockets (app: App): Promise<void> {
  await app.register(websocket, {
    options: { server: routeOtherUpgrades(app.server), maxPayload: MAX_FRAME, handleProtocols: offered => offered.has(PROTOCOL) ? PROTOCOL : false },
    errorHandler (error, socket, request) {
      // The library `ws` closes the socket with the right code.
      request.log.debug({ err: error }, 'a socket was closed')
      socket.close()
    },
    preClose (done) {
      for (const client of app.websocketServer.clients) leave(client)
      done()
    }
  })
}

/** Also without the client's answer: a closing server waits for every connection. */
function leave (client: WebSocket): void {
  client.close(1001, 'the service is going away')
  setTimeout(() => { client.terminate() }, GOODBYE).unref()
}

/** Other upgrades are served as if not asked for (RFC 9110, 7.8): Java's client asks for h2c, and Node would not read its body. */
function routeOtherUpgrades (server: Server): Server {
  const websockets = new EventEmitter()
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    if (request.headers.upgrade?.toLowerCase() === 'websocket') websockets.emit('upgrade', request, socket, head)
    else serveAgain(server, request, socket, head)
  })
  return websockets as Server
}

/** The head is written again without `upgrade`, in front of the body. */
function serveAgain (server: Server, { method = '', url = '', httpVersion, rawHeaders }: IncomingMessage, socket: Socket, head: Buffer): void {
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]]
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${name.toLowerCase() === 'connection' ? value.replace(/\bupgrade\b,?\s*/i, '') : value}`)
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  server.emit('connection', socket)
}

/** A client that offers any subprotocol, such as one with its token, must offer this one, too. */
const PROTOCOL = 'ai-prompt-shell.v1'

export const SOCKET_PATH = '/ws'

/** From the subprotocol `bearer.…`: a browser's page can set no other header of a WebSocket request. */
export function subprotocolToken (headers: IncomingHttpHeaders): string | undefined {
  const offered = headers['sec-websocket-protocol']?.split(',').map(each => each.trim()) ?? []
  return offered.find(each => each.startsWith('bearer.'))?.slice('bearer.'.length)
}
