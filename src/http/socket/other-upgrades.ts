import { EventEmitter } from 'node:events'
import { type IncomingMessage, type Server } from 'node:http'
import { type Socket } from 'node:net'

/**
 * Passes requests for a WebSocket on to the listeners of the emitter that is returned. A request for any other upgrade is served as if it
 * had not asked, which HTTP allows (RFC 9110, 7.8): Java's client asks every server for h2c, also with a POST. Without this function Node
 * would leave the body of such a request unread as soon as anything listens to upgrades.
 */
export function routeOtherUpgrades (server: Server): Server {
  const websockets = new EventEmitter()
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    if (request.headers.upgrade?.toLowerCase() === 'websocket') websockets.emit('upgrade', request, socket, head)
    else serveAgain(server, request, socket, head)
  })
  return websockets as Server
}

/** Lets the server read a request anew, with its head written again in front of its body but without the header `upgrade`. */
function serveAgain (server: Server, { method = '', url = '', httpVersion, rawHeaders }: IncomingMessage, socket: Socket, head: Buffer): void {
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]]
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${name.toLowerCase() === 'connection' ? value.replace(/\bupgrade\b,?\s*/i, '') : value}`)
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  server.emit('connection', socket)
}
